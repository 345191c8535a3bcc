"""Merge the shards of a run: their reports, their recordings, and what none of them uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from pytest_chatprompt.reports.ab import Compared
from pytest_chatprompt.reports.run_commands import common_words, without_report
from pytest_chatprompt.results.records import RunResults, SnapshotUses, merge_uses
from pytest_chatprompt.snapshots.files import RECORDING_SUFFIX, atomic_write
from pytest_chatprompt.snapshots.revision import Revision, RevisionError
from pytest_chatprompt.wording import count, first_lines, grouped


class MergeError(Exception):
    """What cannot be merged; the text says why."""


_SHOWN: Final = 5


def merge_runs(runs: Sequence[tuple[str, RunResults]]) -> RunResults:
    """Merge the runs of shards, each with the name of its file, into one with all of their results."""
    reports = grouped((each, name) for name, run in runs for each in dict.fromkeys(one.node_id for one in run.results))
    twice = [f"{node_id} in {' and '.join(names)}" for node_id, names in reports.items() if len(names) > 1]
    if twice:
        tests = "a test is" if len(twice) == 1 else f"{len(twice)} tests are"
        head = f"{tests} in more than one report; merge reports of shards, each of which ran other tests:"
        raise MergeError(_list(head, twice))
    others = [run.ab.compared_with if run.ab else run.against for _, run in runs]
    if len({*others}) > 1:
        named = zip(runs, others, strict=True)
        compared = ", ".join(f"{name} with {other or 'the files on disk'}" for (name, _), other in named)
        raise MergeError(f"the reports compare with different snapshots: {compared}")
    # A report may be that of shards itself.
    commands = [command for _, run in runs for command in (run.shards or (run.command,))]
    is_one = len({tuple(without_report(command)) for command in commands}) == 1
    folders = {run.folder for _, run in runs}
    results = tuple(result for _, run in runs for result in run.results)
    versions = runs[0][1].ab
    return RunResults(
        command=common_words(commands),
        shards=() if is_one else tuple(commands),
        folder=folders.pop() if len(folders) == 1 else ".",
        is_live=any(run.is_live for _, run in runs),
        against=runs[0][1].against,
        ab=versions and Compared.of(results, versions.compared_with, is_sequential=versions.is_sequential).result(),
        results=results,
        snapshots=merge_uses(each for _, run in runs for each in run.snapshots),
    )


def _list(head: str, names: Sequence[str]) -> str:
    return "\n  ".join((head, *first_lines(names, _SHOWN)))


def merge_recordings(shards: Sequence[Path], project: Path) -> list[Path]:
    """Take what each shard has recorded, and give the names of it, relative to the folder of the project.

    A shard may hold all recordings of the project. Those that are as in the commit on which the project stands were not
    recorded by it, and are not taken from it; without git all that a shard holds counts as recorded.
    """
    recorded: dict[Path, bytes] = {}
    conflicts: set[Path] = set()
    with ExitStack() as stack:
        committed = _open_commit(project, stack)
        for shard in shards:
            for path in sorted(shard.rglob(f"?*{RECORDING_SUFFIX}")):
                name = path.relative_to(shard)
                # A link may lead anywhere.
                content = None if path.is_symlink() else path.read_bytes()
                if content is None or (committed and content == committed.content(project.absolute() / name)):
                    continue
                if content != recorded.setdefault(name, content):
                    conflicts.add(name)
    if conflicts:
        tests = "a test" if len(conflicts) == 1 else f"{len(conflicts)} tests"
        head = f"several shards have recorded {tests}, with different replies; give each test to one shard:"
        raise MergeError(_list(head, [path.as_posix() for path in sorted(conflicts)]))
    for name, content in recorded.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        atomic_write(project / name, content.decode())
    return sorted(recorded)


def _open_commit(project: Path, stack: ExitStack) -> Revision | None:
    """The commit on which a project stands; `None` without a repository, or in one without a commit."""
    try:
        return stack.enter_context(closing(Revision.open("HEAD", project.absolute())))
    except RevisionError:
        return None


def unused_lines(names: Sequence[str]) -> Iterator[str]:
    """The lines about unused snapshots; nothing for none."""
    if names:
        pronoun = "it" if len(names) == 1 else "them"
        yield f"{count(len(names), 'snapshot')} unused: no test of these reports uses {pronoun}."
        yield from (f"  {name}" for name in names)
        yield f"Run all tests at once with --chatprompt-remove-unused to remove {pronoun}."


def unsettled_lines(files: Sequence[SnapshotUses]) -> Iterator[str]:
    """The line about files of which no report has some test; nothing for none."""
    if files:
        first = files[0]
        tests = count(sum(len(each.left_out) for each in files), "test")
        yield (
            f"The unused snapshots of {count(len(files), 'file')} are not known: {tests} ran in none of these reports, "
            f"or did not pass, such as {first.path}::{first.left_out[0]}"
        )
