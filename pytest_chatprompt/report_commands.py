"""The command line: `python -m pytest_chatprompt compare` and `merge`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_chatprompt.capture.recording.recorded_exchange import request_sha256
from pytest_chatprompt.reports.compare import compare_runs, comparison_lines
from pytest_chatprompt.reports.formats import FORMATS, ReportError, read_report, write_report
from pytest_chatprompt.reports.run_commands import common_words, without_report
from pytest_chatprompt.results.records import (
    RunResults,
    SnapshotUses,
    gone_snapshots,
    merge_uses,
    unsettled_files,
    unused_snapshots,
)
from pytest_chatprompt.snapshots.files import RECORDING_SUFFIX, atomic_write, is_recording
from pytest_chatprompt.snapshots.revision import Revision, RevisionError
from pytest_chatprompt.snapshots.unused import Removal, RemovalError, checked_paths, remove_unused
from pytest_chatprompt.wording import count, shown_path, visible, visible_line


class MergeError(Exception):
    """What cannot be merged; the text says why."""


OK: Final = 0
WORSE: Final = 1
UNUSED: Final = 1
_ERRORS: Final = (ReportError, MergeError, RemovalError, RevisionError, OSError, UnicodeDecodeError)
# What argparse exits with.
USAGE_ERROR: Final = 2


def main(arguments: Sequence[str]) -> int:
    """Run a command, and give its exit code.

    It is 1 if `compare` found a case that got worse, or `merge` a snapshot that nothing uses, and 2 for what cannot be
    read, merged, written or removed, the output of the command included.
    """
    options = _parser().parse_args(arguments)
    # A console that cannot show a character of an answer still shows the rest.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        lines, status = options.run(options)
    except _ERRORS as error:
        sys.stderr.write(f"error: {visible(str(error))}\n")
        return USAGE_ERROR
    try:
        sys.stdout.write("".join(f"{visible_line(line)}\n" for line in lines))
        sys.stdout.flush()
    except OSError as error:
        # Python would report an error again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # The reader may have stopped reading, as `head` does.
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"error: cannot write to the standard output: {error.strerror}\n")
            return USAGE_ERROR
    return int(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_chatprompt",
        description="Work with the reports of runs, as --chatprompt-report PATH.json writes them.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    compare = commands.add_parser(
        "compare",
        help="say what got better and what got worse from one run to another",
        description="Say what got better, what got worse and what changed from one run to another. "
        "Exits with 1 if a case got worse.",
    )
    compare.add_argument("before", type=Path, metavar="BEFORE.json", help="the report of the first run")
    compare.add_argument("after", type=Path, metavar="AFTER.json", help="the report of the second run")
    compare.set_defaults(run=_compare)
    merge = commands.add_parser(
        "merge",
        help="make one report of those of several shards, or put their recordings into one folder",
        description="Make one report of those of several shards, or put the recordings of several shards into one "
        "folder. A test that several shards ran, or recorded with different replies, is an error. "
        "Exits with 1 if there are snapshots that no shard uses.",
    )
    merge.add_argument(
        "shards", nargs="+", type=Path, metavar="SHARD", help="the .json report of a shard; or folders with recordings"
    )
    merge.add_argument(
        "-o",
        dest="outputs",
        type=Path,
        action="append",
        required=True,
        metavar="PATH",
        help=f"the report to write, in the format of the suffix ({', '.join(FORMATS)}); may be repeated. "
        "For recordings: the folder of the project",
    )
    merge.add_argument(
        "--snapshot-update",
        dest="is_update",
        action="store_true",
        help="remove the snapshots of eval files that no shard uses; run it in pytest's root folder",
    )
    merge.add_argument(
        "--chatprompt-remove-unused",
        dest="removes_all",
        action="store_true",
        help="remove the snapshots of own code and the recordings that no shard uses, too, if all tests passed",
    )
    merge.add_argument(
        "--snapshot-warn-unused",
        dest="only_warns",
        action="store_true",
        help="exit with 0 even if there are snapshots that no shard uses",
    )
    merge.set_defaults(run=_merge)
    return parser


def _compare(options: argparse.Namespace) -> tuple[list[str], int]:
    comparison = compare_runs(read_report(options.before), read_report(options.after))
    lines = list(comparison_lines(comparison, (str(options.before), str(options.after))))
    return lines, WORSE if comparison.of_kind("worse") else OK


def _merge(options: argparse.Namespace) -> tuple[list[str], int]:
    if any(path.is_dir() for path in options.shards):
        return _merge_recordings(options)
    for path in options.outputs:
        if path.suffix not in FORMATS:
            raise MergeError(f"{path} has an unknown suffix; end it with {', '.join(FORMATS)}")
    run = merge_runs([(str(path), read_report(path)) for path in options.shards])
    for path in options.outputs:
        if problem := write_report(path, run):
            raise MergeError(f"cannot write {path}: {problem}")
    counts = f"{count(len(run.results), 'test')} of {count(len(options.shards), 'report')}"
    unused, status = _settle_unused(run, options)
    return [*(f"wrote {path}: {counts}" for path in options.outputs), *unused], status


def _settle_unused(run: RunResults, options: argparse.Namespace) -> tuple[list[str], int]:
    """Report the snapshots that no shard uses, or remove them, as one run of all tests does."""
    names, gone = unused_snapshots(run.snapshots), gone_snapshots(run.snapshots)
    lines: list[str] = []
    if names and (options.is_update or options.removes_all):
        root = Path.cwd()
        file = next(each.path for each in run.snapshots if each.unused and not each.left_out)
        if not (root / file).exists():
            raise MergeError(f"{file} is not in {root}; merge in pytest's root folder to remove its snapshots")
        paths = checked_paths(names, root)
        has_passed = all(result.outcome in ("passed", "skipped") for result in run.results)
        removes_all = options.removes_all and has_passed
        removable = paths if removes_all else checked_paths(gone, root) if options.is_update else []
        used = (result.snapshot.path for result in run.results if result.snapshot is not None)
        # Reports do not say where an ordinary test has its recording.
        requests = [request for result in run.results for request in result.requests]
        sent = (request_sha256(each["endpoint"], each["request"], each.get("headers")) for each in requests)
        folders = {(root / name).parent for name in used}
        removal = remove_unused(paths, removable, root, folders, {}, sent_somewhere=sent)
        lines += removal_lines(removal, root)
        names = [shown_path(path, root) for path in removal.left]
        if names and options.removes_all:
            lines.append("Not all tests of these reports passed, so nothing of this was removed:")
    lines += [*unused_lines(names, gone), *unsettled_lines(unsettled_files(run.snapshots))]
    # Unused recordings alone are no failure, and an update only reports what it leaves.
    is_failure = not (options.only_warns or options.is_update or all(is_recording(Path(name)) for name in names))
    return lines, UNUSED if is_failure else OK


def _merge_recordings(options: argparse.Namespace) -> tuple[list[str], int]:
    files = [str(path) for path in options.shards if not path.is_dir()]
    if files:
        raise MergeError(f"{', '.join(files)}: not a folder; merge reports, or folders with recordings, not both")
    if len(options.outputs) > 1 or not options.outputs[0].is_dir():
        raise MergeError("recordings are put into the folder of the project: name that folder once, as in -o .")
    written = merge_recordings(options.shards, options.outputs[0])
    counts = f"{count(len(written), 'recording')} of {count(len(options.shards), 'shard')}"
    return [*(path.as_posix() for path in written), f"put {counts} into {options.outputs[0]}"], OK


_SHOWN: Final = 5


def merge_runs(runs: Sequence[tuple[str, RunResults]]) -> RunResults:
    """Merge the runs of shards, each with the name of its file, into one with all of their results."""
    first: dict[str, str] = {}
    twice: dict[str, tuple[str, str]] = {}
    for name, run in runs:
        for node_id in {result.node_id: None for result in run.results}:
            if node_id in first:
                twice[node_id] = first[node_id], name
            first[node_id] = name
    if twice:
        tests = "a test is" if len(twice) == 1 else f"{len(twice)} tests are"
        head = f"{tests} in more than one report; merge reports of shards, each of which ran other tests:"
        raise MergeError(_list(head, [f"{node_id} in {one} and {other}" for node_id, (one, other) in twice.items()]))
    if len({run.against for _, run in runs}) > 1:
        compared = ", ".join(f"{name} with {run.against or 'the files on disk'}" for name, run in runs)
        raise MergeError(f"the reports compare with different snapshots: {compared}")
    # A report may be that of shards itself.
    commands = [command for _, run in runs for command in (run.shards or (run.command,))]
    is_one = len({tuple(without_report(command)) for command in commands}) == 1
    folders = {run.folder for _, run in runs}
    return RunResults(
        command=common_words(commands),
        shards=() if is_one else tuple(commands),
        folder=folders.pop() if len(folders) == 1 else ".",
        is_live=any(run.is_live for _, run in runs),
        against=runs[0][1].against,
        results=tuple(result for _, run in runs for result in run.results),
        snapshots=merge_uses(each for _, run in runs for each in run.snapshots),
    )


def _list(head: str, names: Sequence[str]) -> str:
    more = [f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return "\n  ".join((head, *names[:_SHOWN], *more))


def merge_recordings(shards: Sequence[Path], project: Path) -> list[Path]:
    """Take what each shard has recorded, and give the names of it, relative to the folder of the project.

    A shard may hold all recordings of the project. Those that are as in the commit on which the project stands were not
    recorded by it, and are not taken from it; without git all that a shard holds counts as recorded.
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
        tests = "a test" if len(conflicts) == 1 else f"{len(conflicts)} tests"
        head = f"several shards have recorded {tests}, with different replies; give each test to one shard:"
        raise MergeError(_list(head, [path.as_posix() for path in sorted(conflicts)]))
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


_NO_TEST: Final = "no test of these reports uses"


def unused_lines(names: Sequence[str], gone: Collection[str]) -> Iterator[str]:
    """The lines about unused snapshots; `gone` are those that `--snapshot-update` removes."""
    yield from _listed(names, "unused")
    if names:
        option = "--snapshot-update" if gone and len(gone) == len(names) else "--chatprompt-remove-unused"
        yield f"Merge with {option} in pytest's root folder to remove {'it' if len(names) == 1 else 'them'}."


def removal_lines(removal: Removal, root: Path) -> Iterator[str]:
    """The lines about unused snapshots that were removed, moved or kept; nothing for none."""
    yield from _listed([shown_path(path, root) for path in removal.removed], "removed")
    for old, new in removal.moved:
        yield f"Its requests are sent by another test now: moved {shown_path(old, root)} to {shown_path(new, root)}"
    for path in removal.kept:
        yield f"Its requests are still sent, or it cannot be read: kept {shown_path(path, root)}"


def unsettled_lines(files: Sequence[SnapshotUses]) -> Iterator[str]:
    """The line about files of which no report has some test; nothing for none."""
    if files:
        first = files[0]
        tests = count(sum(len(each.left_out) for each in files), "test")
        yield (
            f"The unused snapshots of {count(len(files), 'file')} are not known: {tests} ran in none of these reports, "
            f"or did not pass, such as {first.path}::{first.left_out[0]}"
        )


def _listed(names: Sequence[str], state: str) -> Iterator[str]:
    if names:
        yield f"{count(len(names), 'snapshot')} {state}: {_NO_TEST} {'it' if len(names) == 1 else 'them'}."
    yield from (f"  {name}" for name in names)
