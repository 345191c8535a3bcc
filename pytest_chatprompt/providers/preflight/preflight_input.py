"""What preflight looks at: a request that is about to be sent, and the model that it is for.

`chat.preflight_check` fills a `PreflightInput`; the functions of the rules read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.providers.preflight.models import UNKNOWN, ModelLimits


class ModelParameters(NamedTuple):
    """The model and its parameters, read from a finished body with all that the user merged into it.

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
        tools: what the model may call, in either of OpenAI's shapes; `prompt.tool_definitions` reads them.
        tool_choice: which of the tools the model has to call, in the same shapes; `None` if it is not set.
        response_format: the shape of the answer, in the same shapes; `None` if it is not set.
        body: the body as it is sent, `extra_body` included: values may be of any type.
    """

    vendor: str
    model: str
    prompt: ChatPrompt
    limits: ModelLimits = UNKNOWN
    api_version: str | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    response_format: Mapping[str, Any] | None = None
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def turns(self) -> tuple[ChatMessage, ...]:
        """All messages except the system messages."""
        return tuple(message for message in self.prompt if message.role != "system")


def number_or_none(value: Any) -> Any:
    """Return a value of a body if it is a number, else `None`: what users merge into a body may be anything."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
