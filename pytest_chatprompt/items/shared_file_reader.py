"""The run's reader of the files that cases name, in the run's stash.

`session` hands it to the modules that make requests. `case_checks` asks here, since `session` imports it indirectly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pytest_chatprompt.prompt.attachments import FileReader

_reader_key: Final[pytest.StashKey[FileReader]] = pytest.StashKey()


def shared_file_reader(config: pytest.Config) -> FileReader:
    """The reader of attached files; it reads each file once in a run."""
    reader = config.stash.get(_reader_key, None)
    if reader is None:
        # What only running a case needs is imported by the first case that runs.
        from pytest_chatprompt.prompt.attachments import FileReader  # noqa: PLC0415

        reader = config.stash[_reader_key] = FileReader(config.rootpath)
    return reader
