"""Rules about the order of turns, and about who speaks.

A `PreflightInput` comes in; each message that breaks the rule comes out, with a text for the user. The tables in
`rules` call these functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from pytest_chatprompt.prompt.chat_prompt import describe_messages
from pytest_chatprompt.providers.preflight.preflight_input import PreflightInput
from pytest_chatprompt.providers.preflight.rule import RuleFunction, Violation


def speaker_names(request: PreflightInput) -> Iterator[Violation]:
    """Messages whose `name` has a character that the API refuses."""
    for message in request.prompt:
        if message.name is not None and not re.fullmatch(r"[^\s<|\\/>]+", message.name):
            yield (
                message,
                f"{request.vendor} refuses the name {message.name!r}; "
                "a name must have no white space and none of < | \\ / >",
            )


def first_turn_not_the_users(request: PreflightInput) -> Iterator[Violation]:
    """A first turn that is not the user's."""
    for message in request.turns[:1]:
        if message.role != "user":
            yield (
                message,
                f"{request.vendor} expects the user to speak first, and this is the {message.role}'s message; "
                "put a user message before it",
            )


def merged_turns(request: PreflightInput) -> Iterator[Violation]:
    """Turns that the API merges with the one before, because both have the same role."""
    for previous, message in pairwise(request.turns):
        # Tool results, and what the user says after them, are one turn in any case.
        if previous.role == message.role != "tool":
            yield (
                message,
                f"{request.vendor} merges consecutive turns of the same role, so the model sees this and "
                f"{describe_messages([previous])} as one turn; join them in the case, or put an answer between them",
            )


def turns_of_the_same_role(request: PreflightInput) -> Iterator[Violation]:
    """Turns with the role of the one before, for an API that refuses them."""
    for previous, message in pairwise(request.turns):
        # Tool results, and what the user says after them, are sent as one turn.
        if previous.role == message.role != "tool":
            yield (
                message,
                f"{request.vendor} refuses consecutive turns of the same role, and {describe_messages([previous])} "
                f"is the {previous.role}'s turn too; join them in the case, or put "
                f"{'an answer' if previous.role == 'user' else 'a user message'} between them",
            )


def assistant_message_last(consequence: str) -> RuleFunction:
    """Make a rule function that finds a final assistant message without tool calls.

    Args:
        consequence: the text of the finding; `{vendor}` and `{model}` are filled in.
    """

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        for message in request.turns[-1:]:
            if message.role == "assistant" and not message.tool_calls and request.limits.prefill is not True:
                yield message, consequence.format(vendor=request.vendor, model=request.model)

    return find_violations


_unsupported_prefill = assistant_message_last(
    "{vendor}'s {model} refuses a final assistant message: it does not continue a prefilled answer; "
    "end the case with a user message"
)


def prefill_not_supported(request: PreflightInput) -> Iterator[Violation]:
    """A final assistant message, for a model that is known not to continue one."""
    if request.limits.prefill is False:
        yield from _unsupported_prefill(request)


def trailing_blanks_in_prefill(request: PreflightInput) -> Iterator[Violation]:
    """A final assistant message that ends with white space."""
    for message in request.turns[-1:]:
        if message.role == "assistant" and not message.tool_calls and message.text != message.text.rstrip():
            yield message, f"{request.vendor} refuses white space at the end of a final assistant message; remove it"
