"""What the eval items and tests of a run share: the secrets, the files that cases name, the stand-in of the APIs."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.options import options_key

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.errors import Diagnostic
    from pytest_chatprompt.prompt.attachments import FileReader
    from pytest_chatprompt.providers.response import Provider
    from pytest_chatprompt.snapshots.revision import Revision


class SharedByRun:
    """What the eval items and tests of a run share.

    What only running a test needs is imported by the first test that runs.

    Attributes:
        providers: the built-in ones that the run has used, with their defaults.
        snapshots: syrupy's `snapshot` of one case for each folder of snapshots.
        files_by_stem: for each folder its files, by their names without extension.
        revision: the git revision whose snapshots count; `None` for the files on disk.
    """

    def __init__(self, config: pytest.Config, redactor: Redactor) -> None:
        self.config = config
        self.redactor = redactor
        self.snapshots: dict[Path, SnapshotAssertion] = {}
        self.providers: dict[str, Provider] = {}
        self.file_warnings: list[Diagnostic] = []
        self.markers: set[str] = set()
        self.files_by_stem: dict[Path, dict[str, list[Path]]] = {}
        self.revision: Revision | None = None
        self._api: EvalAPI | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> SharedByRun:
        """What the tests of a run share."""
        if _shared_key not in config.stash:
            redactor = Redactor(os.environ, config.stash[options_key].allowed_secrets)
            config.stash[_shared_key] = cls(config, redactor)
        return config.stash[_shared_key]

    @cached_property
    def reader(self) -> FileReader:
        """The reader of attached files; it reads each file once in a run."""
        from pytest_chatprompt.prompt.attachments import FileReader  # noqa: PLC0415

        return FileReader(self.config.rootpath)

    def compare_with_revision(self, name: str, option: str) -> None:
        """Let the snapshots of a git revision count until the run ends; `option` names it in errors."""
        from pytest_chatprompt.snapshots.revision import Revision, RevisionError  # noqa: PLC0415

        try:
            self.revision = Revision.open(name, self.config.rootpath, option)
        except RevisionError as error:
            raise pytest.UsageError(str(error)) from None
        self.config.add_cleanup(self.revision.close)

    def new_eval_api(self, item: pytest.Item) -> EvalAPI:
        """A stand-in of the APIs without routes and calls: the last one again if it is unused so far."""
        from pytest_chatprompt.capture.eval_api import EvalAPI  # noqa: PLC0415

        if self._api is None or self._api.is_read or self._api.routes or self._api.was_used or self._api.log:
            options = self.config.stash[options_key]
            self._api = EvalAPI(self.redactor, placeholders=options.placeholders, goes_live=options.live)
            self._api.is_read = False
        item.addfinalizer(self._api.children.close)
        return self._api


def refuse_secret(redactor: Redactor, data: object, what: str) -> None:
    """Refuse data with a secret; `what` says what holds it."""
    __tracebackhide__ = True
    secret = redactor.find(data)
    if secret is not None:
        raise SnapshotError(
            f"{what} {secret.what}, under {secret.path}; remove it: snapshots are committed. "
            "If it is not a secret, add a regular expression for it to the ini value chatprompt_allowed_secrets"
        )


_shared_key: Final[pytest.StashKey[SharedByRun]] = pytest.StashKey()
