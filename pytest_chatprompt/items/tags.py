"""Tags that are probably mistyped: used once, while a similar tag is used often.

In: the cases of a run as they are collected. Out: an `EvalFileWarning` for each such tag, at its line. `-m smoke` would
leave out a case with the tag `smoek` without a word. `file` adds the cases, `session` asks for the warnings.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import pytest

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.items.file_warnings import issue

_OFTEN: Final = 5
# `smoek` and `smoke` are 0.8 alike.
_SIMILARITY: Final = 0.8


@dataclass(eq=False)
class TagUses:
    """How often each tag is used in a run, by case.

    Args:
        counts: the number of cases with each tag.
        cases: the last case with each tag.
    """

    counts: Counter[str] = field(default_factory=Counter)
    cases: dict[str, EvalCase] = field(default_factory=dict)

    @classmethod
    def of(cls, config: pytest.Config) -> TagUses:
        """The uses of tags in a run."""
        return config.stash.setdefault(_key, cls())

    def add(self, case: EvalCase) -> None:
        """Count the tags of a case."""
        for tag in case.tags:
            self.counts[tag] += 1
            self.cases[tag] = case

    def warn(self) -> None:
        """Warn about each tag that is used once and looks like one that is used often."""
        often = [tag for tag, count in self.counts.items() if count >= _OFTEN]
        for tag, count in self.counts.items():
            # `v1` and `v2` are different on purpose.
            known = [other for other in often if _without_digits(other) != _without_digits(tag)]
            similar = difflib.get_close_matches(tag, known, n=1, cutoff=_SIMILARITY) if count == 1 else []
            if similar:
                _warn(self.cases[tag], tag, similar[0], self.counts[similar[0]])


def _without_digits(tag: str) -> str:
    return re.sub(r"\d+", "", tag)


def _warn(case: EvalCase, tag: str, similar: str, count: int) -> None:
    text = f"case {case.id!r}: the tag {tag!r} is used once, {similar!r} {count} times; did you mean {similar!r}?"
    line = case.origin.position_of("tags").line
    issue(text, str(case.path), line)


_key: Final = pytest.StashKey[TagUses]()
