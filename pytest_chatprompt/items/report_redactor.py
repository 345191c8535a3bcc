"""Report redactor: what changes the texts of reports: secrets are removed, and halves of characters replaced.

A text comes in, and comes out as it may be reported. `redaction_hooks` makes the one `ReportRedactor` of a run, and the
modules that it calls use it through `TextRedactor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pytest_chatprompt.capture.secrets.redaction import Redactor


class TextRedactor(Protocol):
    """Whatever makes a text fit to be reported."""

    def redact(self, text: str) -> str:
        """The text, as it may be shown."""

    def learn_environment(self) -> int:
        """Learn the variables that were set since the last time, and say how many secrets have been learned so far."""


@dataclass(eq=False)
class ReportRedactor:
    """Makes texts fit to be reported.

    A file in UTF-8 cannot hold half a character (a lone surrogate), and neither can what a worker of pytest-xdist
    sends: one such text would end the run. An error of a test or of a provider may hold one.

    Args:
        redactor: the secrets of the run.
    """

    redactor: Redactor

    def redact(self, text: str) -> str:
        """The text without secrets, and with U+FFFD for each half of a character."""
        redacted = self.redactor.redact(text)
        if redacted.isascii():
            return redacted
        # Runs that only collect load nothing of `providers`.
        from pytest_chatprompt.providers.response import replace_surrogates  # noqa: PLC0415

        return replace_surrogates(redacted)

    def learn_environment(self) -> int:
        """Learn the variables that were set since the last time, and say how many secrets have been learned so far."""
        return self.redactor.learn_environment()
