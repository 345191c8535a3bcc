"""Environment: the variables that were set or changed since somebody last looked.

Environment variables come in; the names and values of those that are new come out, each once. Only `redaction` uses it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_chatprompt.capture.secrets.sources import NAME_OF_TEST


class WatchedEnvironment:
    """Environment variables, and what they were at the last look. Safe between threads.

    Args:
        variables: by name; such as `os.environ`.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        # On POSIX the keys of `os.environ` are bytes within it.
        self._name_of_test: Any = getattr(variables, "encodekey", str)(NAME_OF_TEST)
        self._known: dict[Any, Any] = {}

    def changes(self) -> Iterator[tuple[str, str]]:
        """The names and values of the variables that were set since the last time; all of them at first."""
        # `os.environ` decodes all of its variables to be compared, which takes longer than a search; `_data` is its
        # dict.
        variables = getattr(self._variables, "_data", self._variables)
        known = self._known
        name_of_test = variables.get(self._name_of_test)
        if name_of_test is None:
            known.pop(self._name_of_test, None)
        else:
            # It is another one in each phase of each test, and of no interest.
            known[self._name_of_test] = name_of_test
        # Fixtures set variables, so they have to be looked at again for each case.
        if variables == known:
            return
        variables = dict(variables)
        for name, value in variables.items():
            if known.get(name) != value:
                yield os.fsdecode(name), os.fsdecode(value)
        # Last: until somebody has used all of them, another thread gets them too.
        self._known = variables
