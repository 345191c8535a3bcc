"""What a provider must be able to do, what it returns, and the texts of replies.

JSON can hold half a character (an escape of U+D800, a surrogate, without its other half), which no file, terminal or
process boundary takes. Each becomes U+FFFD here.
"""

# Without `from __future__ import annotations`: pydantic would compile the text of each annotation.

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol, runtime_checkable

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pytest_chatprompt.cases.message import ToolCall
from pytest_chatprompt.errors import PayloadWarning
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.text.json_data import LONE_SURROGATE, value_at
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


def replace_surrogates(text: str) -> str:
    """Replace each half of a character with U+FFFD; a whole character has no surrogates in Python."""
    return text if text.isascii() else LONE_SURROGATE.sub("\ufffd", text)


def load_json(content: bytes | str) -> Any:
    """Read JSON in which no text holds half a character."""
    text = content if isinstance(content, str) else content.decode(json.detect_encoding(content), "surrogatepass")
    try:
        data = json.loads(replace_surrogates(text))
        if re.search(r"\\u[dD][89a-fA-F]", text):
            # A pair of escapes is one character by now.
            data = json.loads(replace_surrogates(json.dumps(data, ensure_ascii=False)))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return data


# The text of an answer where nothing is sent.
OFFLINE_TEXT: Final = "(offline)"
# Text that can be written, shown and sent to another process.
WholeText = Annotated[str, AfterValidator(replace_surrogates)]
# What can be added up, compared and written as JSON.
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class TokenUsage(BaseModel):
    """How many tokens a request used, from 0; `None` where the API does not say.

    Attributes:
        input_tokens: all of the prompt, those read from a cache and written to one included.
        output_tokens: all of the answer, those of thinking included where the API counts them.
        cache_read_tokens: how many of the input were read from the vendor's cache.
        cache_write_tokens: how many of the input were written to it.
        cache_write_1h_tokens: how many of these are kept for an hour, where the API has caches of several prices.
        reasoning_tokens: how many of the output the model spent on thinking.
    """

    model_config = ConfigDict(frozen=True)

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    cache_write_1h_tokens: Count | None = None
    reasoning_tokens: Count | None = None


# The names of the common APIs and of Codex. Some count what concerns their cache, or thinking, beside other tokens.
_COUNTS: Final[Mapping[str, str]] = {
    name: kind
    for kind, names in {
        "input": "input_tokens prompt_tokens inputTokens promptTokenCount prompt_eval_count",
        "output": "output_tokens completion_tokens outputTokens candidatesTokenCount eval_count",
        "read": "cached_tokens cached_input_tokens cachedContentTokenCount",
        "written": "cache_write_tokens cache_write_input_tokens",
        "thoughts": "reasoning_tokens reasoning_output_tokens thinking_tokens",
        "read beside": "cache_read_input_tokens cacheReadInputTokens",
        "written beside": "cache_creation_input_tokens cacheWriteInputTokens",
        "tools beside": "toolUsePromptTokenCount",
        "thoughts beside": "thoughtsTokenCount",
        "written for an hour": "ephemeral_1h_input_tokens",
    }.items()
    for name in names.split()
}


def read_usage(data: Any) -> TokenUsage:
    """The tokens that a usage, the body of a reply, or the events of a stream tell; `None` where they do not."""
    found: dict[str, int] = {}
    _find_counts(data, found)

    def total(*kinds: str) -> int | None:
        known = [found[kind] for kind in kinds if kind in found]
        return sum(known) if known else None

    return TokenUsage(
        input_tokens=total("input", "read beside", "written beside", "tools beside"),
        output_tokens=total("output", "thoughts beside"),
        cache_read_tokens=total("read", "read beside"),
        cache_write_tokens=total("written", "written beside"),
        cache_write_1h_tokens=total("written for an hour"),
        reasoning_tokens=total("thoughts", "thoughts beside"),
    )


def _find_counts(data: Any, found: dict[str, int]) -> None:
    """Note the highest count of each kind: streams report how many it was so far."""
    for item in data if isinstance(data, list) else ():
        _find_counts(item, found)
    for key, value in data.items() if isinstance(data, Mapping) else ():
        kind = _COUNTS.get(key)
        if kind is not None and _is_count(value):
            found[kind] = max(value, found.get(kind, 0))
        elif key == "cacheDetails" and isinstance(value, list):
            # Parts of what Bedrock wrote to its cache, by how long it keeps them.
            kept = [value_at(entry, ["inputTokens"]) for entry in value if value_at(entry, ["ttl"]) == "1h"]
            found.update({"written for an hour": sum(filter(_is_count, kept))} if kept else {})
        elif key != "iterations":
            # Those are parts of these counts too, under the same names.
            _find_counts(value, found)


def _is_count(value: Any) -> bool:
    # Above that, not all JSON readers tell numbers apart, and a price of them may be infinite.
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


class ProviderResponse(BaseModel):
    """The answer of a model or an agent. Its numbers are finite, and none is below 0.

    Attributes:
        text: the text, its blocks joined, without the thinking; `""` for none. Half a character (a lone surrogate),
            which JSON can hold and files and terminals cannot, is U+FFFD; so it is in `raw` and in the tool calls.
        finish_reason: why the model stopped, in the API's words; `None` if it does not say.
        usage: how many tokens were used.
        cost_usd: what the answer costs, by the price list or the provider's own price; `None` where that is not known.
            A replayed answer has what its usage costs, although nothing is paid for it.
        raw: the body of the API's reply, decoded from JSON; the events of an agent that reports them, else `None`.
        tool_calls: the tool calls in the answer, in the shape of OpenAI's chat completions.
        latency_seconds: from the first byte of the request to the last byte of the reply; retries do not count.
            Of an agent, and of a provider of your own that does not say it, how long `send` took.
        retries: how many times the request was sent again before this answer.
        blocked: why the API withheld the answer although the status is 200, in its words; `None` if it did not.
        adjustments: what the provider changed in the messages to fit the API's shape.
        findings: what preflight found in the request.
        is_awaited: whether the provider waited for the answer; if not, there is no answer to check.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: WholeText
    finish_reason: WholeText | None = None
    usage: TokenUsage = TokenUsage()
    cost_usd: Amount | None = None
    raw: Any = None
    tool_calls: tuple[ToolCall, ...] = ()
    latency_seconds: Amount | None = None
    retries: Count = 0
    blocked: WholeText | None = None
    adjustments: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    is_awaited: bool = True


@runtime_checkable
class Provider(Protocol):
    """Any object that can send a request and return the answer."""

    def send(self, request: ProviderRequest) -> ProviderResponse:
        """Send a request, and wait for the answer."""


# What a request can be sent through: a provider, or a function.
Sender = Provider | Callable[[ProviderRequest], Any]
