"""Warnings about eval files, each once for a file, at its line.

In: what is found as a file is collected. Out: an `EvalFileWarning` for each, once collection is done.
`file` and `agentv_providers` add them, `session` has them issued; `tags` issues its own with `issue`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Final

import pytest

from pytest_chatprompt.errors import Diagnostic, EvalFileWarning


@dataclass(eq=False)
class FileWarnings:
    """The warnings about the eval files of a run.

    Args:
        config: the configuration of the run.
        diagnostics: in the order of collection.
    """

    config: pytest.Config
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @classmethod
    def of(cls, config: pytest.Config) -> FileWarnings:
        """The warnings of a run."""
        return config.stash.setdefault(_key, cls(config))

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


_key: Final = pytest.StashKey[FileWarnings]()
