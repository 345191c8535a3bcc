"""What preflight looks at: a request that is about to be sent, and the model that it is for.

A provider fills a `PreflightInput`; the functions of the rules read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.providers.preflight.models import UNKNOWN, ModelLimits


class ModelParameters(NamedTuple):
    """The model and its parameters, as a provider reads them out of a finished body, whatever the user merged into it.

    Args:
        model: the model's name.
        temperature: as it is in the body; `None` if it is not set.
        max_output_tokens: the largest number of tokens in the answer, as it is in the body; `None` if it is not set.
    """

    model: str
    temperature: Any = None
    max_output_tokens: Any = None


@dataclass(frozen=True, slots=True)
class PreflightInput:
    """A request that is about to be sent, as the rules see it.

    Args:
        vendor: the API's name.
        model: the model's name.
        prompt: the messages.
        limits: what is known about the model.
        api_version: the API's version; `None` if it has none.
        temperature: `None` if it is not set.
        max_output_tokens: the largest number of tokens in the answer; `None` if it is not set.
    """

    vendor: str
    model: str
    prompt: ChatPrompt
    limits: ModelLimits = UNKNOWN
    api_version: str | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None

    @property
    def turns(self) -> tuple[ChatMessage, ...]:
        """All messages except the system messages."""
        return tuple(message for message in self.prompt if message.role != "system")


def number_or_none(value: Any) -> Any:
    """Return a value of a body if it is a number, else `None`: what users merge into a body may be anything."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
