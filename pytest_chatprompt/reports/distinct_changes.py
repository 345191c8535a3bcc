"""Distinct changes: equal changes of many cases, shown as one.

The results of a run come in; its `DistinctChange`s come out, largest first. Pure, and linear in the number of changes;
`review_lines` and `markdown` show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pytest_chatprompt.results.case_result import CaseResult
from pytest_chatprompt.snapshots.difference import Change
from pytest_chatprompt.wording import count

Content = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class DistinctChange:
    """One change, and all the places and cases that have it.

    Args:
        change: the first of the equal ones.
        places: where it stands, each with the number of cases, the most frequent first.
        results: of the cases that have it, in the order of the run.
    """

    change: Change
    places: tuple[tuple[str, int], ...]
    results: tuple[CaseResult, ...]

    @property
    def providers(self) -> list[str]:
        """The providers of its cases, each once."""
        return list(dict.fromkeys(result.provider for result in self.results if result.provider is not None))

    @property
    def files(self) -> list[str]:
        """The files of its cases, each once."""
        return list(dict.fromkeys(result.path for result in self.results))


@dataclass(slots=True)
class _Group:
    change: Change
    places: Counter[str] = field(default_factory=Counter)
    results: dict[str, CaseResult] = field(default_factory=dict)


def distinct_changes(results: Iterable[CaseResult]) -> list[DistinctChange]:
    """The distinct changes of a run, those of the most cases first.

    Args:
        results: of the cases, in the order of the run; a case that ran twice counts as it ran last.
    """
    groups: dict[Content, _Group] = {}
    for result in {result.node_id: result for result in results}.values():
        seen: set[tuple[Content, str]] = set()
        for change in result.difference.changes:
            group = groups.setdefault(change.content, _Group(change))
            group.results[result.node_id] = result
            if (change.content, change.place) not in seen:
                seen.add((change.content, change.place))
                group.places[change.place] += 1
            if group.change.place == "question":
                # The question repeats for people what the request says.
                group.change = change
    changes = [
        DistinctChange(group.change, tuple(group.places.most_common()), tuple(group.results.values()))
        for group in groups.values()
    ]
    return sorted(changes, key=lambda change: -len(change.results))


def renamed_cases(results: Iterable[CaseResult]) -> dict[str, str]:
    """The cases that send what the snapshot of another case shows, while that one sends something else.

    Args:
        results: of the cases of a run.

    Returns:
        For each node id that of the other case: the two exchanged ids, or a row moved by one.
    """
    differing = [result for result in results if result.snapshot is not None and result.snapshot.state != "same"]
    holders: dict[str | None, str] = {
        result.snapshot.stored_sha256: result.node_id
        for result in differing
        if result.snapshot is not None and result.snapshot.stored_sha256 is not None
    }
    return dict(_senders(differing, holders))


def describe_changes(changes: Sequence[DistinctChange]) -> str:
    """Say how many changes there are: `1 distinct change in 37 snapshots`."""
    cases = {result.node_id for change in changes for result in change.results}
    return f"{count(len(changes), 'distinct change')} in {count(len(cases), 'snapshot')}"


def _senders(results: list[CaseResult], holders: dict[str | None, str]) -> Iterator[tuple[str, str]]:
    for result in results:
        holder = None if result.snapshot is None else holders.get(result.snapshot.sent_sha256)
        if holder is not None and holder != result.node_id:
            yield result.node_id, holder
