"""The command line: `python -m pytest_chatprompt compare`, `merge` and `convert`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_chatprompt.errors import EvalFileError
from pytest_chatprompt.reports.compare import compare_runs, comparison_lines
from pytest_chatprompt.reports.formats import FORMATS, ReportError, read_report, write_report
from pytest_chatprompt.reports.merge import MergeError, merge_recordings, merge_runs, unsettled_lines, unused_lines
from pytest_chatprompt.results.records import unsettled_files, unused_snapshots
from pytest_chatprompt.snapshots.files import atomic_write, is_recording
from pytest_chatprompt.snapshots.revision import RevisionError
from pytest_chatprompt.wording import count, visible, visible_line

OK: Final = 0
FAILED: Final = 1
_ERRORS: Final = (EvalFileError, ReportError, MergeError, RevisionError, OSError, UnicodeDecodeError)
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
        # Escapes would change what a converted file sends.
        show = str if options.run is _convert else visible_line
        sys.stdout.write("".join(f"{show(line)}\n" for line in lines))
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
        description="Work with the reports of runs, as --chatprompt-report PATH.json writes them, and with eval files.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    short = "say what got better and what got worse from one run to another"
    long = "Say what got better, what got worse and what changed from one run to another. "
    compare = commands.add_parser("compare", help=short, description=f"{long}Exits with 1 if a case got worse.")
    compare.add_argument("before", type=Path, metavar="BEFORE.json", help="the report of the first run")
    compare.add_argument("after", type=Path, metavar="AFTER.json", help="the report of the second run")
    compare.add_argument("-o", dest="page", type=Path, metavar="PATH.html", help="write both runs as a page, too")
    compare.set_defaults(run=_compare)
    short = "make one report of those of several shards, or put their recordings into one folder"
    long = (
        "Make one report of those of several shards, or put the recordings of several shards into one folder. A test "
        "that several shards ran, or recorded with different replies, is an error. Exits with 1 if there are snapshots "
        "that no shard uses."
    )
    merge = commands.add_parser("merge", help=short, description=long)
    shards = "the .json report of a shard; or folders with recordings"
    merge.add_argument("shards", nargs="+", type=Path, metavar="SHARD", help=shards)
    outputs = (
        f"the report to write, in the format of the suffix ({', '.join(FORMATS)}); may be repeated. For recordings: "
        "the folder of the project"
    )
    merge.add_argument("-o", dest="outputs", type=Path, action="append", required=True, metavar="PATH", help=outputs)
    only_warns = "exit with 0 even if there are snapshots that no shard uses"
    merge.add_argument("--snapshot-warn-unused", dest="only_warns", action="store_true", help=only_warns)
    merge.set_defaults(run=_merge)
    short = "write a file of another tool, such as promptfooconfig.yaml, as an eval file"
    long = (
        "Write a file of another tool, such as promptfooconfig.yaml, as an eval file to standard output. The files "
        "that it names have to lie below the working folder. Standard error has what is not translated."
    )
    convert = commands.add_parser("convert", help=short, description=long)
    convert.add_argument("file", type=Path, metavar="FILE", help="the file to convert")
    convert.set_defaults(run=_convert)
    return parser


def _compare(options: argparse.Namespace) -> tuple[list[str], int]:
    if options.page is not None and options.page.suffix != ".html":
        raise ReportError(f"{options.page} has another suffix than .html, and a comparison is written as a page")
    after = read_report(options.after)
    comparison = compare_runs(read_report(options.before), after, (str(options.before), str(options.after)))
    lines = list(comparison_lines(comparison))
    if options.page is not None:
        from pytest_chatprompt.reports.page import render_page  # noqa: PLC0415

        options.page.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(options.page.absolute(), render_page(after, comparison))
        lines += ["", f"wrote {options.page}"]
    return lines, FAILED if comparison.of_kind("worse") else OK


def _merge(options: argparse.Namespace) -> tuple[list[str], int]:
    if any(path.is_dir() for path in options.shards):
        return _merge_recordings(options)
    reports = [(str(path), read_report(path)) for path in options.shards]
    for path in options.outputs:
        if path.suffix not in FORMATS:
            raise MergeError(f"{path} has an unknown suffix; end it with {', '.join(FORMATS)}")
    run = merge_runs(reports)
    for path in options.outputs:
        if problem := write_report(path, run):
            raise MergeError(f"cannot write {path}: {problem}")
    counts = f"{count(len(run.results), 'test')} of {count(len(options.shards), 'report')}"
    unused = unused_snapshots(run.snapshots)
    # Unused recordings alone are no failure.
    is_failure = not (options.only_warns or all(is_recording(Path(name)) for name in unused))
    lines = [f"wrote {path}: {counts}" for path in options.outputs]
    lines += [*unused_lines(unused), *unsettled_lines(unsettled_files(run.snapshots))]
    return lines, FAILED if is_failure else OK


def _merge_recordings(options: argparse.Namespace) -> tuple[list[str], int]:
    files = [str(path) for path in options.shards if not path.is_dir()]
    if files:
        raise MergeError(f"{', '.join(files)}: not a folder; merge reports, or folders with recordings, not both")
    if len(options.outputs) > 1 or not options.outputs[0].is_dir():
        raise MergeError("recordings are put into the folder of the project: name that folder once, as in -o .")
    written = merge_recordings(options.shards, options.outputs[0])
    counts = f"{count(len(written), 'recording')} of {count(len(options.shards), 'shard')}"
    return [*(path.as_posix() for path in written), f"put {counts} into {options.outputs[0]}"], OK


def _convert(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_chatprompt.cases.convert import convert  # noqa: PLC0415

    path = options.file.absolute()
    text = convert(path, Path.cwd() if path.is_relative_to(Path.cwd()) else path.parent, sys.stderr.write)
    return text.split("\n")[:-1], OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
