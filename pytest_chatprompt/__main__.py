"""The command line: `python -m pytest_chatprompt compare` and `merge`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_chatprompt.capture.recording.recorded_exchange import request_sha256
from pytest_chatprompt.reports.compare import compare_runs, comparison_lines
from pytest_chatprompt.reports.formats import FORMATS, ReportError, read_report, write_report
from pytest_chatprompt.reports.merge import (
    MergeError,
    merge_recordings,
    merge_runs,
    removal_lines,
    unsettled_lines,
    unused_lines,
)
from pytest_chatprompt.results.records import RunResults, gone_snapshots, unsettled_files, unused_snapshots
from pytest_chatprompt.snapshots.files import is_recording
from pytest_chatprompt.snapshots.revision import RevisionError
from pytest_chatprompt.snapshots.unused_removal import RemovalError, checked_paths, remove_unused
from pytest_chatprompt.wording import count, shown_path, visible, visible_line

OK: Final = 0
WORSE: Final = 1
UNUSED: Final = 1
_ERRORS: Final = (
    ReportError,
    MergeError,
    RemovalError,
    RevisionError,
    OSError,
    UnicodeDecodeError,
)
# What argparse exits with.
USAGE_ERROR: Final = 2


def main(arguments: Sequence[str]) -> int:
    """Run a command.

    Returns:
        0 if all went well; 1 if `compare` found a case that got worse, or `merge` a snapshot that nothing uses; 2 for
        what cannot be read, merged, written or removed, the output of the command included.

    Raises:
        SystemExit: the words are not a command.
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
