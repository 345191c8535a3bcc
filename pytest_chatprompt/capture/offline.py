"""Offline: no real keys, no proxies, and no way to the network.

An app may look at any variable to decide what it does, so as few as possible change.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from traceback import format_exception_only
from typing import Final

from pytest_chatprompt.capture.guard import ConnectionAttempts, guard_network
from pytest_chatprompt.capture.secrets.names import is_secret_name
from pytest_chatprompt.capture.server.table import NO_PROXY, PROXIES, REDIRECTED_APIS, REGIONS
from pytest_chatprompt.errors import ChatPromptError

# What clients read when they are made (https://www.python-httpx.org/environment_variables/).
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "ssl_cert_file", "ssl_cert_dir")
_REMOVED_VARIABLES: Final = (*PROXIES, *NO_PROXY, *_CERTIFICATES)
# The values that variables get in place of those that they have, or that they lack.
PLACEHOLDER: Final = "offline"
_AZURE: Final = "https://azure-openai.invalid"
_VALUES: Final[Mapping[str, str]] = {
    **{name: (api.find_base_url({}) or _AZURE) + path for api in REDIRECTED_APIS for name, path in api.urls.items()},
    **{name: value for api in REDIRECTED_APIS for name, value in api.offline.items()},
}
# The variables of `REDIRECTED_APIS` that hold credentials.
_CREDENTIALS: Final = frozenset(
    name for api in REDIRECTED_APIS for name in (*api.keys, *api.offline) if name not in REGIONS
)
# The keys without which SDKs cannot be used, by the packages that read them, with the beginnings of the names of all
# variables by which an app, or the SDK itself, tells whom it asks and how.
_PLAIN_KEYS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "OPENAI_API_KEY": ("openai", ("OPENAI_", "AZURE_OPENAI_", "AZURE_API_")),
    "ANTHROPIC_API_KEY": ("anthropic", ("ANTHROPIC_",)),
    "GEMINI_API_KEY": ("google.genai", ("GEMINI_", "GOOGLE_")),
    "MISTRAL_API_KEY": ("mistralai", ("MISTRAL_",)),
    "CO_API_KEY": ("cohere", ("CO_", "COHERE_")),
}
# What SDKs say that miss a credential and do not name its variable.
_UNNAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "Expected either api_key or admin_api_key to be set": ("OPENAI_API_KEY",),  # openai 3.54 `lib/_client_auth.py`
    "api_key, auth_token, or credentials to be set": ("ANTHROPIC_API_KEY",),  # anthropic 2.12 `_client.py`
    "No API key was provided. Please pass a valid API key": ("GEMINI_API_KEY",),  # google-genai 3.4 `_api_client.py`
    # botocore 1.44 `exceptions.py`; of the two variables of the region it reads one (`configprovider.py`).
    "Unable to locate credentials": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    # anthropic 2.12 `lib/aws/_auth.py`
    "Could not resolve AWS credentials": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "You must specify a region": ("AWS_DEFAULT_REGION",),
}
_VARIABLE: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")


@contextmanager
def offline(
    *,
    allows_programs: bool = False,
    allowed_hosts: Collection[str] = (),
    placeholders: Collection[str] | None = None,
    credentials: Collection[str] = (),
    keeps_credentials: bool = False,
) -> Iterator[ConnectionAttempts]:
    """Keep this process offline; yields what its sockets try to reach.

    `placeholders` are the variables that are set where they are not; `None` stands for the plain API keys of the SDKs
    that are installed, each where no variable of its vendor is set. Those that are set stay with `keeps_credentials`.
    """
    variables = _placeholder_variables(placeholders, () if keeps_credentials else _CREDENTIALS.union(credentials))
    before = {name: os.environ.get(name) for name in (*variables, *_REMOVED_VARIABLES)}
    for name in _REMOVED_VARIABLES:
        os.environ.pop(name, None)
    os.environ.update(variables)
    try:
        with guard_network(allows_programs=allows_programs, allowed_hosts=allowed_hosts) as attempts:
            yield attempts
    finally:
        for name in before:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _placeholder_variables(names: Collection[str] | None, replaced: Collection[str]) -> dict[str, str]:
    """The variables to set, or to replace. CI sets the variable of a secret that it does not have to an empty text."""
    given = {name for name, value in os.environ.items() if value}
    if names is None:
        names = [
            key
            for key, (package, prefixes) in _PLAIN_KEYS.items()
            if not any(name.startswith(prefixes) for name in given) and _is_installed(package)
        ]
    wanted = [name for name in names if name not in given]
    wanted += given.intersection(replaced)
    return {name: _VALUES.get(name, PLACEHOLDER) for name in wanted}


@cache
def _is_installed(package: str) -> bool:
    """Whether a package can be imported; nothing is, but for the packages around it."""
    try:
        # A module that somebody has put there by hand has no spec.
        return sys.modules.get(package) is not None or find_spec(package) is not None
    except ImportError:
        return False


def describe_missing_variable(error: BaseException | None) -> str:
    """What to do about an error for want of a credential, a region or an endpoint; `""` for any other error."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    names = next(filter(None, map(_missing_variables, chain)), ())
    if not names:
        return ""
    them = "it" if len(names) == 1 else "them"
    return (
        f"the environment has no {' and no '.join(names)}: set {them} in the test or in conftest.py, as in "
        f"monkeypatch.setenv({names[0]!r}, {_VALUES.get(names[0], PLACEHOLDER)!r}), or list {them} in the ini "
        f"value chatprompt_placeholders, which sets {them} while eval_api acts"
    )


def _missing_variables(error: BaseException) -> tuple[str, ...]:
    if isinstance(error, AssertionError | ChatPromptError):
        # What they name is not what somebody lacks; an error of this package may follow one that is.
        return ()
    # `str(error)` may fail.
    text = "".join(format_exception_only(error))
    # The key of any mapping; only names of credentials are worth a line.
    is_key = isinstance(error, KeyError)
    named = [each for each in error.args if isinstance(each, str)] if is_key else _VARIABLE.findall(text)
    for name in named:
        is_known = name in _CREDENTIALS or name in _VALUES or name == "OPENAI_API_VERSION"
        if (is_known or (is_secret_name(name) and _VARIABLE.fullmatch(name))) and not os.environ.get(name):
            return (name,)
    return next((names for phrase, names in _UNNAMED.items() if phrase in text), ())
