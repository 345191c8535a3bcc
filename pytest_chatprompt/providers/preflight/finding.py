"""A finding: one place where a request breaks a preflight rule.

Rules make them; they travel with the `ProviderResponse`, and `items` shows them as warnings.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_chatprompt.errors import PayloadWarning
from pytest_chatprompt.wording import about_message


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a request breaks a preflight rule.

    Args:
        rule: the rule's name.
        text: what the API will do, and what to change.
        source: the URL of the vendor's document.
        message_number: 1-based number of the message in the case's `input_messages`; `None` if it is not one message.
        location: the keys and indexes that lead to one of the settings, a tool or a format, such as `"tools", 0`;
            empty if it is not about one.
    """

    rule: str
    text: str
    source: str
    message_number: int | None = None
    location: tuple[str | int, ...] = ()

    def to_warning(self) -> PayloadWarning:
        """Make a warning of it; the text ends with the rule and its source."""
        text = about_message(self.message_number, f"{self.text} [{self.rule}, {self.source}]")
        return PayloadWarning(text, rule=self.rule, message_number=self.message_number, location=self.location)
