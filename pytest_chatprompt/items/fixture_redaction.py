"""Fixture redaction: errors of fixtures hold no secret before a plugin sees them on their way.

`FixtureRedaction` is registered as a plugin by `redaction_hooks` where allure-pytest writes its report: it takes the
errors of fixtures from their set-up and tear-down, rather than from pytest's reports.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_chatprompt.items.redacted_errors import redact_error
from pytest_chatprompt.items.report_redactor import TextRedactor


@dataclass(eq=False)
class FixtureRedaction:
    """The hook that redacts the errors of fixtures.

    Args:
        redactor: removes the secrets of the run.
    """

    redactor: TextRedactor

    # The innermost wrapper: the others see the error later.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Redact an error of a fixture, and those of its tear-down."""
        try:
            with self._redacted_error():
                return (yield)
        finally:
            finalizers = fixturedef._finalizers
            finalizers[:] = map(self._redacting, finalizers)

    def _redacting(self, finalizer: Callable[[], object]) -> Callable[[], object]:
        def finalize() -> None:
            with self._redacted_error():
                finalizer()

        return finalize

    @contextmanager
    def _redacted_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            redact_error(error, self.redactor)
            raise
