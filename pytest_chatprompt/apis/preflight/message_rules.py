"""Rules about messages: the order of turns, who speaks, tool calls and their results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pytest_chatprompt.apis.preflight.rule import PreflightInput, RuleFunction, Violation
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, describe_messages


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


def results_without_id(request: PreflightInput) -> Iterator[Violation]:
    """Tool messages that do not name the call that they answer."""
    for message in request.prompt:
        if message.role == "tool" and message.tool_call_id is None:
            yield (
                message,
                f"{request.vendor} refuses a tool message without 'tool_call_id'; name the call that it answers",
            )


def results_without_content(request: PreflightInput) -> Iterator[Violation]:
    """Tool messages whose content is null."""
    for message in request.prompt:
        if message.role == "tool" and message.content is None:
            yield message, f"{request.vendor} refuses a tool message without content; write '' if the result is empty"


def results_without_call(request: PreflightInput) -> Iterator[Violation]:
    """Tool messages that answer a call which no earlier message makes."""
    call_ids: set[str] = set()
    for message in request.prompt:
        call_ids.update(call.id for call in message.tool_calls)
        if message.tool_call_id is not None and message.tool_call_id not in call_ids:
            yield (
                message,
                f"{request.vendor} refuses a tool result without its call, and no earlier message makes the call "
                f"{message.tool_call_id!r}; put the assistant message that makes it before this one",
            )


def calls_without_results(request: PreflightInput) -> Iterator[Violation]:
    """Messages with a call that no tool message right after them answers."""
    for message, results in _calls_and_results(request.turns):
        answered = {result.tool_call_id for result in results}
        missing = [repr(call.id) for call in message.tool_calls if call.id not in answered]
        if missing:
            yield (
                message,
                f"{request.vendor} expects the results of tool calls right after them, and these have none there: "
                f"{', '.join(missing)}; add a tool message for each right after this message",
            )


def calls_never_answered(request: PreflightInput) -> Iterator[Violation]:
    """Messages with a call that no tool message answers, for an API that takes results anywhere after their calls."""
    answered = {message.tool_call_id for message in request.turns}
    for message in request.turns:
        missing = [repr(call.id) for call in message.tool_calls if call.id not in answered]
        if missing:
            yield (
                message,
                f"{request.vendor} refuses tool calls without their results, and nothing answers these: "
                f"{', '.join(missing)}; add a tool message for each after this message",
            )


def calls_without_tools(request: PreflightInput) -> Iterator[Violation]:
    """Calls in a request that defines no tools, for an API that wants the definitions beside them."""
    for message in request.turns:
        if message.tool_calls and "toolConfig" not in request.body:
            yield (
                message,
                f"{request.vendor} refuses tool calls in a request without tools; "
                "define those that the messages call under 'tools'",
            )
            return


def blank_results(request: PreflightInput) -> Iterator[Violation]:
    """Tool messages without text, for an API that refuses blank ones."""
    for message in request.turns:
        if message.role == "tool" and not message.text.strip():
            yield (
                message,
                f"{request.vendor} refuses a tool result without text; write what it gave, such as '(nothing)'",
            )


def results_out_of_order(request: PreflightInput) -> Iterator[Violation]:
    """Tool messages that answer a call, but do not follow it at once."""
    in_place = {
        id(result) for message, results in _calls_and_results(request.turns) for result in _results_of(message, results)
    }
    callers = {call.id: message for message in request.turns for call in message.tool_calls}
    for message in request.turns:
        caller = callers.get(message.tool_call_id or "")
        if caller is not None and id(message) not in in_place:
            yield (
                message,
                f"{request.vendor} wants tool results right after their calls, and this one answers the call "
                f"{message.tool_call_id!r} of {describe_messages([caller])}; move it there",
            )


def results_given_twice(request: PreflightInput) -> Iterator[Violation]:
    """Tool messages that answer a call which already has a result."""
    for message, results in _calls_and_results(request.turns):
        answered: set[str | None] = set()
        for result in _results_of(message, results):
            if result.tool_call_id in answered:
                yield (
                    result,
                    f"the call {result.tool_call_id!r} already has a result; {request.vendor} takes one for each call",
                )
            answered.add(result.tool_call_id)


def call_ids_used_twice(request: PreflightInput) -> Iterator[Violation]:
    """Messages with a call whose id an earlier call has."""
    seen: set[str] = set()
    for message in request.turns:
        for call in message.tool_calls:
            if call.id in seen:
                yield (
                    message,
                    f"{request.vendor} tells tool calls apart by their ids, and {call.id!r} is used for a call before; "
                    "give each call an id of its own, and its result the same",
                )
            seen.add(call.id)


def _calls_and_results(turns: Sequence[ChatMessage]) -> Iterator[tuple[ChatMessage, list[ChatMessage]]]:
    """Each message that makes calls, with the tool messages right after it."""
    caller: ChatMessage | None = None
    results: list[ChatMessage] = []
    for message in turns:
        if message.role == "tool":
            results.append(message)
            continue
        if caller is not None:
            yield caller, results
        caller, results = (message if message.tool_calls else None), []
    if caller is not None:
        yield caller, results


def _results_of(message: ChatMessage, results: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    call_ids = {call.id for call in message.tool_calls}
    yield from (result for result in results if result.tool_call_id in call_ids)


def users_after_results(request: PreflightInput) -> Iterator[Violation]:
    """User messages right after tool results, for an API that wants the model to answer these first."""
    for previous, message in pairwise(request.turns):
        if previous.role == "tool" and message.role == "user":
            yield (
                message,
                f"{request.vendor} refuses a user message right after tool results; "
                "put an answer of the assistant before it",
            )


def calls_after_an_answer(request: PreflightInput) -> Iterator[Violation]:
    """Messages with calls that come first, or right after another assistant message."""
    for previous, message in pairwise((None, *request.turns)):
        if message is not None and message.tool_calls and (previous is None or previous.role == "assistant"):
            yield (
                message,
                f"{request.vendor} takes tool calls only right after a user message or tool results; "
                "put one of these before this message",
            )


def calls_without_thought_signatures(request: PreflightInput) -> Iterator[Violation]:
    """Calls of the current turn, for a model that wants its thought signatures back beside them."""
    if request.limits.thought_signatures is not True:
        return
    # The API looks only at calls of the current turn: those after the last user message.
    last_user = max((index for index, message in enumerate(request.turns) if message.role == "user"), default=-1)
    for message in request.turns[last_user + 1 :]:
        if message.tool_calls:
            yield (
                message,
                f"{request.vendor}'s {request.model} refuses tool calls without their thought signatures, which an "
                "eval file cannot hold; end the case with a user message after them, or use an older model",
            )


def function_names(pattern: str, allowed: str) -> RuleFunction:
    """Make a rule function that finds calls of functions whose names the API refuses.

    Args:
        pattern: a regular expression that matches a whole valid name.
        allowed: the same in words, such as `1 to 64 of a-z`.
    """
    valid_name = re.compile(pattern)

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        for message in request.prompt:
            for call in message.tool_calls:
                if not valid_name.fullmatch(call.function.name):
                    yield (
                        message,
                        f"{request.vendor} refuses the function name {call.function.name!r}; a name must be {allowed}",
                    )

    return find_violations


def call_ids(pattern: str, allowed: str) -> RuleFunction:
    """Make a rule function that finds calls whose ids the API refuses.

    Args:
        pattern: a regular expression that matches a whole valid id.
        allowed: the same in words, such as `1 to 64 of a-z`.
    """
    valid_id = re.compile(pattern)

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        for message in request.prompt:
            for call in message.tool_calls:
                if not valid_id.fullmatch(call.id):
                    yield message, f"{request.vendor} refuses the id {call.id!r} of a call; an id must be {allowed}"

    return find_violations
