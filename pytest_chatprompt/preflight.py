"""Preflight: what an API is known to refuse, or to read otherwise than it is written, before anything is sent.

A `Draft` (a chat prompt, the settings and what is known of the model) comes in; the `Finding`s of the rules that it
breaks come out. Each rule is a small declared entry of `providers.rules`, with the vendor's document as its source.
What an API's shape cannot hold at all is no finding, but a `PayloadError` where the payload is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace

from pytest_chatprompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.errors import PayloadWarning


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What is known of a model; `None` where it is not known, and then no rule is broken.

    Args:
        max_output_tokens: the largest cap that it takes, in tokens.
        prefill: whether it goes on from an assistant message that comes last.
        temperature: whether it takes a temperature other than the default.
        thought_signatures: whether it wants back the signature of its thoughts beside the calls that it made.
    """

    max_output_tokens: int | None = None
    prefill: bool | None = None
    temperature: bool | None = None
    thought_signatures: bool | None = None

    def overridden_by(self, own: ModelLimits) -> ModelLimits:
        """These limits, with those of a user's own over them where they are set."""
        known = {field.name: getattr(own, field.name) for field in fields(own)}
        return replace(self, **{name: value for name, value in known.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Draft:
    """What is about to be sent, as the rules see it.

    Args:
        vendor: the API's name.
        model: the model's name.
        prompt: the messages.
        limits: what is known of the model.
        api_version: the API's version, where it has one.
        temperature: as set; `None` for not set.
        max_output_tokens: the cap that is sent; `None` for none.
    """

    vendor: str
    model: str
    prompt: ChatPrompt
    limits: ModelLimits = ModelLimits()
    api_version: str | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None

    @property
    def turns(self) -> tuple[ChatMessage, ...]:
        """The messages but for the system's."""
        return tuple(message for message in self.prompt if message.role != "system")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a draft breaks.

    Args:
        rule: the rule's name.
        text: what will happen, and what to change.
        source: the vendor's document.
        message_number: 1-based number of the message among the case's `input_messages`, if it is one message.
    """

    rule: str
    text: str
    source: str
    message_number: int | None = None

    def as_warning(self) -> PayloadWarning:
        """The finding as a warning, with the rule and its source behind the text."""
        where = "" if self.message_number is None else f"message {self.message_number}: "
        told = f"{where}{self.text} [{self.rule}, {self.source}]"
        return PayloadWarning(told, rule=self.rule, message_number=self.message_number)


Check = Callable[[Draft], Iterable[tuple[ChatMessage | None, str]]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of an API's.

    Args:
        name: a short name, by which a warning filter can find it.
        source: the vendor's document that says so.
        check: gives, for each place that breaks the rule, the message (`None` for none of them) and what to say.
    """

    name: str
    source: str
    check: Check

    def findings(self, draft: Draft) -> Iterator[Finding]:
        """Where a draft breaks the rule, in the order of the messages."""
        for message, text in self.check(draft):
            yield Finding(self.name, text, self.source, None if message is None else message.number)


def preflight(draft: Draft, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """What of a draft will be refused or misread.

    Args:
        draft: what is about to be sent.
        rules: those of its API.

    Returns:
        The findings, rule by rule; empty if all is well.
    """
    return tuple(finding for rule in rules for finding in rule.findings(draft))
