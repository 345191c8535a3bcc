"""Warnings about eval files, each once for a file, at its line, issued once collection is done."""

from __future__ import annotations

import difflib
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import pytest

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.errors import Diagnostic, EvalFileWarning


@dataclass(eq=False)
class FileWarnings:
    """The warnings about the eval files of a run.

    Args:
        diagnostics: in the order of collection.
    """

    config: pytest.Config
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @classmethod
    def of(cls, config: pytest.Config) -> FileWarnings:
        """The warnings of a run."""
        return config.stash.setdefault(_warnings_key, cls(config))

    def add(self, diagnostic: Diagnostic | None) -> None:
        """Add a warning; `None` adds nothing."""
        if diagnostic is not None:
            self.diagnostics.append(diagnostic)

    def warn(self) -> None:
        """Issue the warnings."""
        for diagnostic in self.diagnostics:
            text = f"case {diagnostic.case_id!r}: {diagnostic.text}" if diagnostic.case_id else diagnostic.text
            path = str(self.config.rootpath / diagnostic.path)
            issue(text, path, diagnostic.line)
        self.diagnostics.clear()


def issue(text: str, path: str, line: int) -> None:
    """Issue a warning about a line of an eval file.

    Raises:
        UsageError: the project turns warnings into errors.
    """
    try:
        warnings.warn_explicit(EvalFileWarning(text), category=None, filename=path, lineno=line)
    except EvalFileWarning:
        # Collection is done, so pytest would report any other exception as an error of its own.
        raise pytest.UsageError(f"{path}:{line}: {text}") from None


_warnings_key: Final = pytest.StashKey[FileWarnings]()


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
        return config.stash.setdefault(_tags_key, cls())

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


_tags_key: Final = pytest.StashKey[TagUses]()
