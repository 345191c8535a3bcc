"""Hints: what a difference may come from, beside a change of the prompt: a date, or requests in another order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from pytest_chatprompt.snapshots.changes import Change, requests_in

_MONTHS: Final = "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DAYS: Final = r"((Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?"
# What counts up from run to run has such a word in front; the number in "14 days" is part of a prompt.
_COUNTED: Final = "id|no|number|run|session|request|req|order|ticket|job|task|user|message|msg|call|thread|trace|build"

# Where a date is a version that somebody has chosen.
_CHOSEN: Final = ("model", "endpoint")


class _Kind(NamedTuple):
    """What differs from run to run: its name, a pattern that a mask may have, and what to show for it."""

    noun: str
    pattern: str
    shown: str


# In the order in which they are looked for: a date with its time is one time, and a uuid is no hex digits.
KINDS: Final = (
    _Kind("a time", r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC|[+-]\d\d:?\d\d)?", "<time>"),
    _Kind("a date", r"\b\d{4}-\d\d-\d\d\b", "<date>"),
    _Kind("a date", r"\b\d{1,2}[./]\d{1,2}[./]\d{4}\b", "<date>"),
    _Kind("a date", rf"{_DAYS}\b({_MONTHS} \d{{1,2}}|\d{{1,2}}\.? {_MONTHS}),? \d{{4}}\b", "<date>"),
    _Kind("a time", r"\b\d{1,2}:\d\d(:\d\d(\.\d+)?)?( ?[AaPp][Mm])?\b", "<time>"),
    _Kind("a time", r"\b1\d{9}(\d{3}|\.\d+)?\b", "<time>"),
    _Kind("an id", r"\b[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b", "<id>"),
    _Kind("a path", r"/(tmp|var|home|Users|private|root|builds|mnt)/[\w./+-]*\w", "<path>"),
    _Kind("a path", r"\b[A-Za-z]:\\[\w.\\ +-]*\w", "<path>"),
    _Kind("an id", r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b", "<id>"),
    _Kind("an id", r"\b[a-z]{2,10}[_-](?=\w*\d)[0-9A-Za-z]{6,}\b", "<id>"),
    _Kind("a number that counts", rf"(?i)#\d+|\b({_COUNTED})[ :=_#-]{{1,2}}\d+\b", "<number>"),
)


def mask_hint(changes: Iterable[Change]) -> str:
    """Which masks would make two snapshots the same, if nothing differs but what looks like it comes from the run."""
    found: dict[_Kind, None] = {}
    for change in changes:
        if not change.removed or len(change.removed) != len(change.added) or change.place.endswith(_CHOSEN):
            return ""
        for before, after in zip(change.removed, change.added, strict=True):
            for kind in KINDS:
                # What is masked already has no match.
                if (sent := _matches(kind, after)) and sent != _matches(kind, before):
                    found[kind] = None
                before, after = (re.sub(kind.pattern, kind.shown, text) for text in (before, after))  # noqa: PLW2901
            if before != after:
                return ""
    if not found:
        return ""
    nouns = " and ".join(dict.fromkeys(kind.noun for kind in found))
    masks = ", ".join(f'r"{kind.pattern}": "{kind.shown}"' for kind in found)
    advice = "If it differs from run to run, mask it: let the fixture eval_masks give"
    return f"Only what looks like {nouns} differs. {advice} {{{masks}}}"


def _matches(kind: _Kind, text: str) -> list[str]:
    return [match[0] for match in re.finditer(kind.pattern, text)]


def order_hint(stored: Any, sent: Any) -> str:
    """What to compare if a test of own code sends the requests of its snapshot in another order."""
    before, after = (list(map(json.dumps, requests_in(data).values())) for data in (stored, sent))
    # The requests of a case are the provider's, and stay in their order.
    if before == after or sorted(before) != sorted(after) or "provider" in sent:
        return ""
    return "The requests are the same, in another order. If the order is chance, compare sorted(eval_api.sent)."
