"""`AWSSigner`: signs requests to AWS with the credentials that every tool of AWS finds, by botocore's signer.

botocore is an extra of this package, and imported when the first live request is signed.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html, and botocore (`auth.py`, `session.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, cast

import httpx

from pytest_chatprompt.errors import MissingSettingError


class AWSSigner:
    """Signs the requests of one provider to Bedrock; errors say what else would do. Safe between threads."""

    def __init__(self, vendor: str, without: str) -> None:
        self._vendor = vendor
        self._without = without
        self._lock = threading.Lock()

    def profile_region(self) -> str | None:
        """The region of the profile in `~/.aws/config`; `None` if it has none, or botocore is not installed."""
        try:
            session = self._session
        except ImportError:
            return None
        with self._readable_errors():
            return cast("str | None", session.get_config_variable("region"))

    def sign(self, request: httpx.Request, region: str) -> dict[str, str]:
        """The headers that authorize a request: the signature, its date and, for temporary credentials, their token."""
        try:
            session = self._session
            from botocore.auth import SigV4Auth  # noqa: PLC0415
            from botocore.awsrequest import AWSRequest  # noqa: PLC0415
        except ImportError as error:
            raise MissingSettingError(
                f"requests to {self._vendor} are signed by botocore, which is not installed: "
                f"install it (pip install botocore), or {self._without}"
            ) from error
        with self._readable_errors():
            # Looked up each time: temporary credentials are renewed on the way.
            credentials = session.get_credentials()
            frozen = None if credentials is None else credentials.get_frozen_credentials()
        if frozen is None:
            raise MissingSettingError(
                f"no credentials for {self._vendor}: log in to AWS as for its command line (a profile in ~/.aws, or "
                f"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), or {self._without}"
            )
        unsigned = {"content-type": request.headers["content-type"]}
        signed = AWSRequest(request.method, str(request.url), headers=unsigned, data=request.content)
        SigV4Auth(frozen, "bedrock", region).add_auth(signed)
        return {name.lower(): value for name, value in signed.headers.items() if name.lower() not in unsigned}

    @cached_property
    def _session(self) -> Any:
        """The session of botocore; an `ImportError` if it is not installed."""
        import botocore.session  # noqa: PLC0415

        return botocore.session.Session()

    @contextmanager
    def _readable_errors(self) -> Iterator[None]:
        """Raise what botocore raises as an error of this package."""
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415

        try:
            with self._lock:
                yield
        except BotoCoreError as error:
            raise MissingSettingError(f"the credentials for {self._vendor} cannot be loaded: {error}") from error
