"""Comparing against a git revision: its snapshots count in a run in place of those on disk.

The option's value comes in; a `Revision` comes out for the tests of the run. `plugin` opens it, `own_snapshots` asks
for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pytest_chatprompt.snapshots.revision import Revision

_revision_key: Final[pytest.StashKey[Revision]] = pytest.StashKey()


def open_revision(config: pytest.Config, name: str) -> None:
    """Open the revision of a run, until the run ends.

    Args:
        config: the run's configuration.
        name: the option's value.

    Raises:
        pytest.UsageError: there is no such revision.
    """
    from pytest_chatprompt.snapshots.revision import Revision, RevisionError  # noqa: PLC0415

    try:
        revision = Revision.open(name, config.rootpath)
    except RevisionError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[_revision_key] = revision
    config.add_cleanup(revision.close)


def revision_of(config: pytest.Config) -> Revision | None:
    """The revision that counts in a run; `None` for the files on disk."""
    return config.stash.get(_revision_key, None)
