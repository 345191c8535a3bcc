"""`Rule`: something that an API is known to refuse or to misread, and how to find it in a request.

A `PreflightInput` and the rules of its API come in; the `Finding`s come out, before anything is sent. Pure;
`chat.preflight_check` calls `apply_rules`. What an API cannot express at all is not a finding but a `PayloadError`,
raised where the payload is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.providers.preflight.finding import Finding
from pytest_chatprompt.providers.preflight.preflight_input import PreflightInput

# The keys and indexes that lead to one of the settings, a tool or a format of an eval file: `("tools", 0)`.
RuleLocation = tuple[str | int, ...]
# One place that breaks a rule: the message or the location (`None` if it is neither), and the finding's text.
Violation = tuple[ChatMessage | RuleLocation | None, str]
Topic = Literal["anything", "tool calls", "definitions", "media"]
RuleFunction = Callable[[PreflightInput], Iterable[Violation]]


@dataclass(frozen=True, slots=True)
class Rule:
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
    topic: Topic = "anything"

    def findings(self, request: PreflightInput) -> Iterator[Finding]:
        """Find the places where a request breaks the rule, in the order of the messages."""
        for place, text in self.find_violations(request):
            if isinstance(place, ChatMessage):
                yield Finding(self.name, text, self.source, place.number)
            else:
                yield Finding(self.name, text, self.source, location=place or ())


def apply_rules(request: PreflightInput, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """Find what an API will refuse or misread.

    Args:
        request: what is about to be sent.
        rules: the rules of its API.

    Returns:
        The findings, rule by rule; empty if the request breaks none.
    """
    # Most requests have none of it, and most rules are about one of these.
    topics = {"anything"}
    if any(message.tool_calls or message.role == "tool" for message in request.prompt):
        topics.add("tool calls")
    if request.tools or request.tool_choice is not None or request.response_format is not None:
        topics.add("definitions")
    if any(message.media for message in request.prompt):
        topics.add("media")
    return tuple(finding for rule in rules if rule.topic in topics for finding in rule.findings(request))
