"""Merged recordings: what the shards of a run have recorded, put into one folder.

Copies of a project, or of the recordings in it, come in, one from each shard; recordings are written into the project.
The command line calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_chatprompt.snapshots.files import atomic_write
from pytest_chatprompt.snapshots.names import RECORDING_SUFFIX
from pytest_chatprompt.snapshots.revision import Revision, RevisionError

_SHOWN: Final = 5


class RecordingConflictError(Exception):
    """Two shards have recorded the same test in different ways; the text says which."""


def merge_recordings(shards: Sequence[Path], project: Path) -> list[Path]:
    """Take what each shard has recorded.

    A shard may hold all recordings of the project. Those that are as in the commit on which the project stands were not
    recorded by it, and are not taken from it; without git all that a shard holds counts as recorded.

    Args:
        shards: a folder of each, in which recordings lie where they lie in the project.
        project: its folder.

    Returns:
        The recordings of all shards, relative to the folder, in order; they stand in the project now.

    Raises:
        RecordingConflictError: a test was recorded by several shards, with different replies; nothing is written then.
        OSError: a file cannot be read or written.
    """
    recorded: dict[Path, bytes] = {}
    conflicts: set[Path] = set()
    with _committed(project) as committed:
        for shard in shards:
            for path in sorted(shard.rglob(f"?*{RECORDING_SUFFIX}")):
                name = path.relative_to(shard)
                # A link may lead anywhere.
                content = None if path.is_symlink() else path.read_bytes()
                if content is None or content == committed(name):
                    continue
                if content != recorded.setdefault(name, content):
                    conflicts.add(name)
    if conflicts:
        raise RecordingConflictError(_about(sorted(conflicts)))
    for name, content in recorded.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        atomic_write(project / name, content.decode())
    return sorted(recorded)


@contextmanager
def _committed(project: Path) -> Iterator[Callable[[Path], bytes | None]]:
    """Read files as they were committed, by their paths below the folder of the project."""
    try:
        revision = Revision.open("HEAD", project.absolute())
    except RevisionError:
        # No repository, or one without a commit.
        yield lambda _: None
        return
    try:
        yield lambda name: revision.content(project.absolute() / name)
    finally:
        revision.close()


def _about(conflicts: Sequence[Path]) -> str:
    shown = [path.as_posix() for path in conflicts[:_SHOWN]]
    more = [f"and {len(conflicts) - _SHOWN} more"] if len(conflicts) > _SHOWN else []
    tests = "a test" if len(conflicts) == 1 else f"{len(conflicts)} tests"
    head = f"several shards have recorded {tests}, with different replies; give each test to one shard:"
    return "\n  ".join((head, *shown, *more))
