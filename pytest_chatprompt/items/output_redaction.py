"""Output redaction: what tests and fixtures print holds no secret, in runs in which pytest does not capture it.

`OutputRedaction` is registered as a plugin by `redaction_hooks` where output reaches the terminal as it is written:
other runs pay for none of its hooks.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from pytest_chatprompt.items.redacted_output import redacted_streams
from pytest_chatprompt.items.report_redactor import TextRedactor

# Of `--capture`, which pytest reads once, when it starts: those that let output pass.
_UNCAPTURED: Final = ("no", "tee-sys")


def passes_output(config: pytest.Config) -> bool:
    """Whether a run shows what its tests print (`-s`, `--capture=tee-sys`, or without pytest's plugin for it).

    Args:
        config: the run's configuration.
    """
    return config.getoption("capture", "no") in _UNCAPTURED


@dataclass(eq=False)
class OutputRedaction:
    """The hooks that redact what is printed.

    Args:
        redactor: removes the secrets of the run.
    """

    redactor: TextRedactor

    # The innermost wrappers: inside of pytest's own capturing. An error of a fixture passes through them.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        """Redact what fixtures print."""
        __tracebackhide__ = True
        return (yield from self._redacted())

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Redact what a test prints."""
        __tracebackhide__ = True
        return (yield from self._redacted())

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        """Redact what fixtures print at their end."""
        __tracebackhide__ = True
        return (yield from self._redacted())

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(self) -> Generator[None, Any, Any]:
        """Redact what a file prints when it is imported."""
        __tracebackhide__ = True
        return (yield from self._redacted())

    def _redacted(self) -> Generator[None, Any, Any]:
        __tracebackhide__ = True
        # Streams of fixtures such as `capsys` are not these: they take the place of these later, and a test compares
        # what it wrote there.
        with redacted_streams((sys.stdout, sys.stderr), self.redactor):
            return (yield)
