"""Preflight rules about messages: the order of turns, tool calls and their results, and how many and how large media.

What an API does not take at all is an error before that, where messages are fitted to it (`fitting`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from pytest_chatprompt.apis.preflight import Found, PreflightInput, RuleFunction, told
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, Media, content_parts, describe_messages
from pytest_chatprompt.text.media_types import MediaKind


def _each_message(breaks: Callable[[ChatMessage], bool], text: str) -> RuleFunction:
    return told(text)(lambda request: ((each, {"message": each}) for each in request.prompt if breaks(each)))


def _each_turn(breaks: Callable[[ChatMessage | None, ChatMessage], bool], text: str) -> RuleFunction:
    """A rule about turns and the turn before each, `None` before the first."""

    @told(text)
    def find(request: PreflightInput) -> Iterator[Found]:
        for before, message in zip((None, *request.turns), request.turns, strict=False):
            if breaks(before, message):
                named = describe_messages([before]) if before else ""
                between = "an answer" if message.role == "user" else "a user message"
                yield message, {"role": message.role, "before": named, "between": between}

    return find


def _same_role(before: ChatMessage | None, message: ChatMessage) -> bool:
    # Tool results, and what the user says after them, are one turn in any case.
    return before is not None and before.role == message.role != "tool"


first_turn_not_the_users: Final = _each_turn(
    lambda before, message: before is None and message.role != "user",
    "{vendor} expects the user to speak first, and this is the {role}'s message; put a user message before it",
)
merged_turns: Final = _each_turn(
    _same_role,
    "{vendor} merges consecutive turns of the same role, so the model sees this and {before} as one turn; "
    "join them, or put an answer between them",
)
turns_of_the_same_role: Final = _each_turn(
    _same_role,
    "{vendor} refuses consecutive turns of the same role, and {before} is the {role}'s turn too; "
    "join them, or put {between} between them",
)
users_after_results: Final = _each_turn(
    lambda before, message: before is not None and before.role == "tool" and message.role == "user",
    "{vendor} refuses a user message right after tool results; put an answer of the assistant before it",
)
calls_after_an_answer: Final = _each_turn(
    lambda before, message: bool(message.tool_calls) and (before is None or before.role == "assistant"),
    "{vendor} takes tool calls only right after a user message or tool results; put one of these before this message",
)
results_without_id: Final = _each_message(
    lambda message: message.role == "tool" and message.tool_call_id is None,
    "{vendor} refuses a tool message without 'tool_call_id'; name the call that it answers",
)
results_without_content: Final = _each_message(
    lambda message: message.role == "tool" and message.content is None,
    "{vendor} refuses a tool message without content; write '' if the result is empty",
)
blank_results: Final = _each_message(
    lambda message: message.role == "tool" and not message.text.strip(),
    "{vendor} refuses a tool result without text; write what it gave, such as '(nothing)'",
)
documents_without_text: Final = _each_message(
    lambda message: (
        message.role == "user"
        and any(media.kind == "document" for media in message.media)
        and all(isinstance(part, Media) for part in content_parts(message.content))
    ),
    "{vendor} refuses a message with a document and no text; add a text part that says what to do with it",
)


def call_ids(pattern: str, allowed: str) -> RuleFunction:
    """A rule about the ids of calls: a pattern for the whole id, and the same in words."""

    @told(f"{{vendor}} refuses the id {{call.id!r}} of a call; an id must be {allowed}")
    def find(request: PreflightInput) -> Iterator[Found]:
        calls = ((message, call) for message in request.prompt for call in message.tool_calls)
        return ((message, {"call": call}) for message, call in calls if not re.fullmatch(pattern, call.id))

    return find


def _prefill(breaks: Callable[[bool | None], bool], text: str) -> RuleFunction:
    """A rule about a final assistant message without calls; `breaks` is told whether the model continues one."""

    @told(text)
    def find(request: PreflightInput) -> Iterator[Found]:
        for last in request.turns[-1:]:
            if last.role == "assistant" and not last.tool_calls and breaks(request.limits.prefill):
                yield last, {}

    return find


assistant_message_last: Final = _prefill(
    lambda prefill: not prefill,
    "{vendor} expects the last turn from the user or a tool; end with a user message",
)
# Of all models but those that are known to continue one.
prefill_answered: Final = _prefill(
    lambda prefill: not prefill,
    "{vendor} does not continue a final assistant message but answers after it; end with a user message",
)
prefill_not_supported: Final = _prefill(
    lambda prefill: prefill is False,
    "{vendor}'s {model} refuses a final assistant message: it does not continue a prefilled answer; "
    "end with a user message",
)


@told(
    "{vendor} refuses a tool result without its call, and no earlier message makes the call {call_id!r}; "
    "put the assistant message that makes it before this one"
)
def results_without_call(request: PreflightInput) -> Iterator[Found]:
    """Tool messages that answer a call which no earlier message makes."""
    call_ids: set[str] = set()
    for message in request.prompt:
        call_ids.update(call.id for call in message.tool_calls)
        if message.tool_call_id is not None and message.tool_call_id not in call_ids:
            yield message, {"call_id": message.tool_call_id}


@told(
    "{vendor} expects the results of tool calls right after them, and these have none there: {missing}; "
    "add a tool message for each right after this message"
)
def calls_without_results(request: PreflightInput) -> Iterator[Found]:
    """Messages with a call that no tool message right after them answers."""
    return (found for each, results in _calls_and_results(request.turns) for found in _unanswered(each, results))


@told(
    "{vendor} refuses tool calls without their results, and nothing answers these: {missing}; "
    "add a tool message for each after this message"
)
def calls_never_answered(request: PreflightInput) -> Iterator[Found]:
    """Messages with a call that no tool message answers, for an API that takes results anywhere after their calls."""
    return (found for message in request.turns for found in _unanswered(message, request.turns))


def _unanswered(message: ChatMessage, results: Iterable[ChatMessage]) -> Iterator[Found]:
    answered = {result.tool_call_id for result in results}
    missing = ", ".join(repr(call.id) for call in message.tool_calls if call.id not in answered)
    if missing:
        yield message, {"missing": missing}


@told("{vendor} refuses tool calls in a request without tools; define those that the messages call under 'tools'")
def calls_without_tools(request: PreflightInput) -> Iterator[Found]:
    """Calls in a request that defines no tools, for an API that wants the definitions beside them."""
    callers = [message for message in request.turns if message.tool_calls]
    if callers and "toolConfig" not in request.body:
        yield callers[0], {}


@told(
    "{vendor} wants tool results right after their calls, and this one answers the call {call_id!r} of {caller}; "
    "move it there"
)
def results_out_of_order(request: PreflightInput) -> Iterator[Found]:
    """Tool messages that answer a call, but do not follow it at once."""
    in_place = {id(result) for _, results in _calls_and_results(request.turns) for result in results}
    callers = {call.id: message for message in request.turns for call in message.tool_calls}
    for message in request.turns:
        caller = callers.get(message.tool_call_id or "")
        if caller is not None and id(message) not in in_place:
            yield message, {"call_id": message.tool_call_id, "caller": describe_messages([caller])}


def _calls_and_results(turns: Sequence[ChatMessage]) -> Iterator[tuple[ChatMessage, list[ChatMessage]]]:
    """Each message that makes calls, with the tool messages right after it that answer them."""
    for index, caller in enumerate(turns):
        if caller.tool_calls:
            call_ids = {call.id for call in caller.tool_calls}
            following = takewhile(lambda message: message.role == "tool", turns[index + 1 :])
            yield caller, [message for message in following if message.tool_call_id in call_ids]


@told(
    "{vendor} tells tool calls apart by their ids, and {call_id!r} is used for a call before; "
    "give each call an id of its own, and its result the same"
)
def call_ids_used_twice(request: PreflightInput) -> Iterator[Found]:
    """Messages with a call whose id an earlier call has."""
    seen: set[str] = set()
    for message in request.turns:
        for call in message.tool_calls:
            if call.id in seen:
                yield message, {"call_id": call.id}
            seen.add(call.id)


@told(
    "{vendor}'s {model} refuses tool calls without their thought signatures; send those of its reply, in an eval file "
    "as raw parts, end with a user message, or use an older model"
)
def calls_without_thought_signatures(request: PreflightInput) -> Iterator[Found]:
    """Calls of the current turn, for a model that wants its thought signatures back beside them."""
    signature = re.compile(r"thought_?signature", re.IGNORECASE)
    if request.limits.thought_signatures and not signature.search(repr(request.body.get("contents"))):
        # The API looks only at calls of the current turn: those after the last user message.
        current = list(takewhile(lambda message: message.role != "user", reversed(request.turns)))
        yield from ((message, {}) for message in reversed(current) if message.tool_calls)


def too_many(kind: MediaKind, limit: int) -> RuleFunction:
    """A rule about the number of media of one kind."""

    @told(f"{{vendor}} takes up to {limit} {kind}s in a request, and this one has {{count}}; send fewer")
    def find(request: PreflightInput) -> Iterator[Found]:
        found = [message for message in request.prompt for media in message.media if media.kind == kind]
        if len(found) > limit:
            yield found[limit], {"count": len(found)}

    return find


def too_large(kind: MediaKind, megabytes: float) -> RuleFunction:
    """A rule about the size of each of the media of one kind."""

    @told(f"{{vendor}} takes {kind}s of up to {megabytes:g} MB, and {{source}} has {{size:.1f}} MB; make it smaller")
    def find(request: PreflightInput) -> Iterator[Found]:
        for message in request.prompt:
            for media in message.media:
                size = len(media.content or b"") / 1024**2
                if media.kind == kind and size > megabytes:
                    yield message, {"source": media.source or "this one", "size": size}

    return find
