"""Valid keys that have no effect here, such as evaluators and misplaced settings.

In: the tree of an eval file. Out: warnings, each once for the file; none for documentation, such as `note`.
Pure; only `loader` calls it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from pytest_chatprompt.evalfile.shorthands import SHORTHANDS
from pytest_chatprompt.evalfile.yaml_tree import Entry, Node, Position

_GRADING: Final = ("evaluator", "evaluators", "rubrics")
# These mappings may hold anything, and in AgentV's files they do not change what is sent either.
_OPEN_MAPPINGS: Final = ("metadata", "execution")
# The keys of AgentV that another key wins over.
_STAND_INS: Final = (
    *((shorthand.key, shorthand.messages_key) for shorthand in SHORTHANDS),
    ("expected_outcome", "outcome"),
)
# Most cases have none of them.
_SUSPECTS: Final = frozenset({*_GRADING, *_OPEN_MAPPINGS, *(key for key, _ in _STAND_INS)})
_Entries = Mapping[str, Entry]


class IneffectiveKey(NamedTuple):
    """A key without effect.

    Args:
        position: where it is.
        case_id: of the case that it is in; `None` for a key of the file.
        text: why, and what to write instead.
    """

    position: Position
    case_id: str | None
    text: str


def find_ineffective_keys(document: Node) -> Iterator[IneffectiveKey]:
    """Find the keys that have no effect.

    Args:
        document: the root node of a valid eval file.

    Returns:
        In this order: the first key that would grade, with the names of the others; then each of the other keys at its
        first place.
    """
    grading: list[tuple[Position, str | None, str]] = []
    others: dict[str, IneffectiveKey] = {}
    for case_id, entries in _levels(document):
        grading += [(position, case_id, name) for position, name in _grading_keys(entries)]
        for position, name, text in _lost_settings(entries):
            others.setdefault(name, IneffectiveKey(position, case_id, text))
        for position, text in _lost_stand_ins(entries):
            others.setdefault(text, IneffectiveKey(position, case_id, text))
    if grading:
        position, case_id, _ = grading[0]
        names = " and ".join(dict.fromkeys(repr(name) for _, _, name in grading))
        verb = "grades" if " and " not in names else "grade"
        yield IneffectiveKey(
            position,
            case_id,
            f"{names} {verb} nothing here; check answers with 'checks', in the hook pytest_chatprompt_response, or in "
            "a fixture that takes eval_response",
        )
    yield from others.values()


def _levels(document: Node) -> Iterator[tuple[str | None, _Entries]]:
    """The keys of the file, and those of each case with its id."""
    yield None, document.value
    for case in document.find(("evalcases",)).value:
        if not _SUSPECTS.isdisjoint(case.value):
            yield case.find(("id",)).value, case.value


def _grading_keys(entries: _Entries) -> Iterator[tuple[Position, str]]:
    for name in _GRADING:
        if name in entries and _has_content(entries[name]):
            yield entries[name].key.position, name
    for name, entry in _inner(entries, "execution").items():
        if name in _GRADING and _has_content(entry):
            yield entry.key.position, f"execution.{name}"


def _lost_settings(entries: _Entries) -> Iterator[tuple[Position, str, str]]:
    for place in _OPEN_MAPPINGS:
        inner = _inner(entries, place)
        if not inner:
            continue
        # Most eval files have neither mapping.
        from pytest_chatprompt.evalfile.foreign_keys import explain_ineffective_setting  # noqa: PLC0415

        for key, entry in inner.items():
            explanation = explain_ineffective_setting(key, place) if isinstance(key, str) else ""
            if explanation:
                name = f"{place}.{key}"
                yield entry.key.position, name, f"{name!r} does not change what is sent; {explanation}"


def _lost_stand_ins(entries: _Entries) -> Iterator[tuple[Position, str]]:
    for key, winner_key in _STAND_INS:
        entry, winner = entries.get(key), entries.get(winner_key)
        if entry is None or winner is None or entry.key is winner.key or not _has_content(entry):
            continue
        # An outcome of null counts as not set.
        if winner_key != "outcome" or winner.node.value is not None:
            yield entry.key.position, f"{key!r} has no effect beside {winner_key!r}; remove one of them"


def _inner(entries: _Entries, key: str) -> _Entries:
    value = entries[key].node.value if key in entries else None
    return value if isinstance(value, dict) else {}


def _has_content(entry: Entry) -> bool:
    """Whether a key has a value that would do something: `evaluators: []` grades nothing anywhere."""
    return entry.node.value not in (None, (), {})
