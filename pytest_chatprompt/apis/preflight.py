"""`Rule`: something that an API is known to refuse or to misread, and what it looks at to find that in a request.

What an API cannot express at all is not a finding but a `PayloadError`, raised where the payload is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.providers.response import Finding


class ModelLimits(NamedTuple):
    """What a model accepts; `None` where that is not known, and then the model breaks no rule about it.

    Args:
        max_output_tokens: the largest `max_output_tokens` that it accepts.
        prefill: whether it continues a final assistant message.
        temperature: whether it accepts a temperature other than the default.
        max_tokens: whether it accepts the older name `max_tokens` for the largest number of tokens.
        stop: whether it accepts texts to stop at.
        thought_signatures: whether it refuses its own tool calls when they are sent back without thought signatures.
    """

    max_output_tokens: int | None = None
    prefill: bool | None = None
    temperature: bool | None = None
    max_tokens: bool | None = None
    stop: bool | None = None
    thought_signatures: bool | None = None

    def updated_with(self, other: ModelLimits) -> ModelLimits:
        """Return these limits, replaced by the other ones wherever those are known."""
        return self._replace(**{name: value for name, value in other._asdict().items() if value is not None})


UNKNOWN: Final = ModelLimits()


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


class PreflightInput(NamedTuple):
    """A request that is about to be sent, as the rules see it.

    Args:
        vendor: the API's name.
        model: the model's name.
        prompt: the messages.
        limits: what is known about the model.
        api_version: the API's version; `None` if it has none.
        temperature: `None` if it is not set.
        max_output_tokens: the largest number of tokens in the answer; `None` if it is not set.
        tools: what the model may call, in either of OpenAI's shapes; `prompt.request` reads them.
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
    body: Mapping[str, Any] = MappingProxyType({})

    @property
    def turns(self) -> tuple[ChatMessage, ...]:
        """All messages except the system messages."""
        return tuple(message for message in self.prompt if message.role != "system")


def number_or_none(value: Any) -> Any:
    """Return a value of a body if it is a number, else `None`: what users merge into a body may be anything."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def find_limits(model: str, known: Mapping[str, ModelLimits]) -> ModelLimits:
    """Look up what is known about a model."""
    name = model.lower()
    return next((limits for glob, limits in known.items() if fnmatchcase(name, glob)), UNKNOWN)


# The keys and indexes that lead to one of the settings, a tool or a format of an eval file: `("tools", 0)`.
RuleLocation = tuple[str | int, ...]
# One place that breaks a rule: the message or the location (`None` if it is neither), and the finding's text.
Violation = tuple[ChatMessage | RuleLocation | None, str]
RuleFunction = Callable[[PreflightInput], Iterable[Violation]]
# One place that breaks a rule, and the facts that the rule's text tells.
Found = tuple[ChatMessage | RuleLocation | None, Mapping[str, Any]]


def told(text: str) -> Callable[[Callable[[PreflightInput], Iterable[Found]]], RuleFunction]:
    """Make the function of a rule: `{vendor}`, `{model}` and the facts of each place are filled into its text."""

    def decorate(find: Callable[[PreflightInput], Iterable[Found]]) -> RuleFunction:
        def find_violations(request: PreflightInput) -> Iterator[Violation]:
            for place, facts in find(request):
                yield place, text.format(vendor=request.vendor, model=request.model, **facts)

        return find_violations

    return decorate


class Rule(NamedTuple):
    """Something that an API is known to refuse, or to read in another way than it is written.

    Args:
        name: a short name, which warning filters can match.
        source: the URL of the vendor's document that says so.
        find_violations: gives each message that breaks the rule, or the location of one of the settings, a tool or a
            format (`None` if it is neither), with a text that says what the API will do and what to change.
        topic: what a request must have for the rule to be looked at: `tool calls` (or their results) in its messages,
            `definitions` of tools, a tool choice or a format, `media`, or `anything`.
    """

    name: str
    source: str
    find_violations: RuleFunction
    topic: Literal["anything", "tool calls", "definitions", "media"] = "anything"

    def findings(self, request: PreflightInput) -> Iterator[Finding]:
        """Find the places where a request breaks the rule, in the order of the messages."""
        for place, text in self.find_violations(request):
            number, location = (place.number, ()) if isinstance(place, ChatMessage) else (None, place or ())
            yield Finding(self.name, text, self.source, number, location)


def apply_rules(request: PreflightInput, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """Find what an API will refuse or misread."""
    # Most requests have none of it, and most rules are about one of these.
    topics = {"anything"}
    if any(message.tool_calls or message.role == "tool" for message in request.prompt):
        topics.add("tool calls")
    if request.tools or request.tool_choice is not None or request.response_format is not None:
        topics.add("definitions")
    if any(message.media for message in request.prompt):
        topics.add("media")
    return tuple(finding for rule in rules if rule.topic in topics for finding in rule.findings(request))


# Rules about what few requests have.
about_calls: Final = partial(Rule, topic="tool calls")
about_definitions: Final = partial(Rule, topic="definitions")
about_media: Final = partial(Rule, topic="media")
