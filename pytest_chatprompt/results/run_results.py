"""`RunResults`: what all tests of a run did, as every report of the run reads it.

The results of the tests come in, in the order in which they ended; JSON goes out, and is read back. Pure; `reports`
writes a run in the format that the user asked for.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from pytest_chatprompt.results.case_result import CaseResult
from pytest_chatprompt.results.snapshot_uses import SnapshotUses

VERSION: Literal[1] = 1


class RunResults(BaseModel):
    """What all tests of a run did.

    Args:
        version: of this format.
        command: the arguments of the run, as the user typed them after `pytest`.
        shards: the same of each run that it was merged from, where these differ; then `command` has only the options
            that all of them share. Empty for a run of its own.
        folder: where pytest was started, relative to pytest's root folder; `.` for that folder itself.
        is_live: whether requests went to the real APIs.
        against: the git revision whose snapshots were compared with; `None` for the files on disk.
        results: of the tests of this plugin, in the order in which they ended.
        snapshots: what the tests did not use of the snapshots of their files; a file of which all tests were selected
            and all snapshots are used has no record. Empty if the run cannot tell: it ended early, or compared nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = VERSION
    command: tuple[str, ...] = ()
    shards: tuple[tuple[str, ...], ...] = ()
    folder: str = "."
    is_live: bool = False
    against: str | None = None
    results: tuple[CaseResult, ...] = ()
    snapshots: tuple[SnapshotUses, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """The run as JSON data, with its version first; a result without what is not set."""
        run = self.model_dump(mode="json", exclude={"results"})
        return {**run, "results": [result.as_data() for result in self.results]}

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Read what `as_data` gave.

        Raises:
            ValueError: it is not the data of a run, or of another version.
        """
        return cls.model_validate(data)
