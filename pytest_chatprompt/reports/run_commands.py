"""Run commands: what to type to accept what a run found, for the folder where pytest was started."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from pytest_chatprompt.options import UPDATING

if TYPE_CHECKING:
    from pytest_chatprompt.results.records import CaseResult, RunResults

_ACCEPTING: Final = "--snapshot-update"
_ACCEPTING_ONE: Final = "--chatprompt-accept"
# What a run that is repeated does not do again; the value of the last one never is a word of its own.
_WRITING: Final = ("--chatprompt-report", _ACCEPTING_ONE, "--chatprompt-ab")
_REVIEW: Final = "--chatprompt-review"
# Options that send for real; accepting what an eval file sends does not need them.
_SENDING_OPTIONS: Final = (
    "--chatprompt-live",
    "--chatprompt-replay",
    "--chatprompt-record",
    "--chatprompt-ab-fail-worse",
)
# Options that decide what a test sends, or where it is found.
OPTIONS_WITH_VALUE: Final = ("--chatprompt-provider", "--rootdir", "-c", "--config-file", "-o", "--override-ini")


def accept_all(run: RunResults, results: Sequence[CaseResult], change_id: str = "") -> str:
    """The command that repeats a run and accepts what it found, or one change; `""` if there is nothing to accept."""
    if _has_nothing_to_accept(run, results) or run.shards:
        # No one command has selected what shards ran.
        return accept(run, results, change_id)
    words = [word for word in without_report(run.command) if word not in UPDATING]
    if all(result.case_id is not None for result in results):
        words = [word for word in words if word not in _SENDING_OPTIONS]
    return shlex.join(["pytest", *words, *_accepting(change_id)])


def _has_nothing_to_accept(run: RunResults, results: Sequence[CaseResult]) -> bool:
    """Whether these are compared with a revision, or with what is sent to another model or provider."""
    return run.against is not None or (run.ab is not None and all(each.versions is not None for each in results))


def _accepting(change_id: str) -> tuple[str, ...]:
    return (_ACCEPTING_ONE, change_id) if change_id else (_ACCEPTING,)


def accept(run: RunResults, results: Sequence[CaseResult], change_id: str = "") -> str:
    """The command that accepts some cases of a run, or one change in them; `""` if there is nothing to accept."""
    if _has_nothing_to_accept(run, results):
        return ""
    tests = dict.fromkeys((posixpath.relpath(each.path, run.folder), each.node_id) for each in results)
    words = [f"{path}::{node_id.partition('::')[2]}" for path, node_id in tests]
    words += kept_options(run.command, OPTIONS_WITH_VALUE)
    if any(result.case_id is None for result in results):
        words += [word for word in run.command if word in _SENDING_OPTIONS[:2]]
    return shlex.join(["pytest", *words, *_accepting(change_id)])


def repeated(words: Iterable[str], option: str) -> str:
    """The command that repeats a run offline with an option, and accepts nothing unless the option does."""
    kept = [word for word in without_report(words) if word not in (*_SENDING_OPTIONS, *UPDATING)]
    return shlex.join(["pytest", *(word for word in kept if word != option), option])


def common_words(commands: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """What the commands of several runs share: all words, or only the options that decide what is sent; no reports."""
    first, *others = [tuple(without_report(command)) for command in commands]
    if all(other == first for other in others):
        return first
    kept, *more = [tuple(kept_options(command, OPTIONS_WITH_VALUE)) for command in commands]
    sending = tuple(word for word in _SENDING_OPTIONS if all(word in command for command in commands))
    return (*(kept if all(other == kept for other in more) else ()), *sending)


def without_report(words: Iterable[str]) -> Iterator[str]:
    """The words of a command without reports and what it accepted, which a run that accepts need not write."""
    kept = (word for is_writing, group in _parsed(words, _WRITING) if not is_writing for word in group)
    return (word for word in kept if word.partition("=")[0] != _REVIEW)


def kept_options(words: Iterable[str], names: Sequence[str]) -> Iterator[str]:
    """Those words of a command that give some options a value, with the values."""
    return (word for is_one, group in _parsed(words, names) if is_one for word in group)


def _parsed(words: Iterable[str], names: Sequence[str]) -> Iterator[tuple[bool, tuple[str, ...]]]:
    """The words of a command, those of an option with its value together, and whether it is one of these options."""
    remaining = iter(words)
    short = tuple(name for name in names if not name.startswith("--"))
    for word in remaining:
        if word in names:
            yield True, (word, *islice(remaining, 1))
        else:
            is_short = word.startswith(short) and not word.startswith("--")
            yield is_short or word.partition("=")[0] in names, (word,)
