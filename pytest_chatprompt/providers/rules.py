"""The rules of the APIs that preflight looks at: one declared entry for each, with the vendor's document.

A rule's check is a function from a `Draft` to the messages that break it and what to say of each. A provider lists the
rules of its API in `rules`; a subclass may list others. What is known of a model, `models` has as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from pytest_chatprompt.chat_prompt import ChatMessage
from pytest_chatprompt.preflight import Check, Draft, Rule
from pytest_chatprompt.providers.turns import where

Broken = Iterator[tuple[ChatMessage | None, str]]


# --- tools


def _tool_messages_without_id(draft: Draft) -> Broken:
    for message in draft.prompt:
        if message.role == "tool" and message.tool_call_id is None:
            yield (
                message,
                f"{draft.vendor} refuses a tool message without 'tool_call_id'; name the call that it answers",
            )


def _results_without_content(draft: Draft) -> Broken:
    for message in draft.prompt:
        if message.role == "tool" and message.content is None:
            yield message, f"{draft.vendor} refuses a tool message without content; write '' if the result is empty"


def _results_of_no_call(draft: Draft) -> Broken:
    known: set[str] = set()
    for message in draft.prompt:
        known.update(call.id for call in message.tool_calls)
        if message.tool_call_id is not None and message.tool_call_id not in known:
            yield (
                message,
                f"{draft.vendor} refuses a result without its call, and no message before makes the call "
                f"{message.tool_call_id!r}; put the assistant message that makes it in front",
            )


def _calls_without_results(draft: Draft) -> Broken:
    for message, results in _calls_and_results(draft.turns):
        answered = {result.tool_call_id for result in results}
        missing = [repr(call.id) for call in message.tool_calls if call.id not in answered]
        if missing:
            yield (
                message,
                f"{draft.vendor} refuses calls without their results right behind them, and nothing there answers "
                f"{', '.join(missing)}; put a tool message for each behind this one",
            )


def _results_out_of_order(draft: Draft) -> Broken:
    beside = {id(result) for message, results in _calls_and_results(draft.turns) for result in _own(message, results)}
    callers = {call.id: message for message in draft.turns for call in message.tool_calls}
    for message in draft.turns:
        caller = callers.get(message.tool_call_id or "")
        if caller is not None and id(message) not in beside:
            yield (
                message,
                f"{draft.vendor} takes results right behind their calls, and this one answers the call "
                f"{message.tool_call_id!r} of {where([caller])}; move it there",
            )


def _results_given_twice(draft: Draft) -> Broken:
    for message, results in _calls_and_results(draft.turns):
        seen: set[str | None] = set()
        for result in _own(message, results):
            if result.tool_call_id in seen:
                yield (
                    result,
                    f"the call {result.tool_call_id!r} has a result already; {draft.vendor} takes one for each",
                )
            seen.add(result.tool_call_id)


def _calls_and_results(turns: Sequence[ChatMessage]) -> Iterator[tuple[ChatMessage, list[ChatMessage]]]:
    """Each message that makes calls, with the tool messages right behind it."""
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


def _own(message: ChatMessage, results: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    ids = {call.id for call in message.tool_calls}
    yield from (result for result in results if result.tool_call_id in ids)


def _calls_behind_an_answer(draft: Draft) -> Broken:
    for before, message in pairwise((None, *draft.turns)):
        if message is not None and message.tool_calls and (before is None or before.role == "assistant"):
            yield (
                message,
                f"{draft.vendor} takes calls right behind a user message or results; "
                "put one of them in front of this one",
            )


def _calls_without_thoughts(draft: Draft) -> Broken:
    if draft.limits.thought_signatures is not True:
        return
    # Only the calls of the turn that is going on are looked at: those behind the user's last message.
    last = max((index for index, message in enumerate(draft.turns) if message.role == "user"), default=-1)
    for message in draft.turns[last + 1 :]:
        if message.tool_calls:
            yield (
                message,
                f"{draft.vendor}'s {draft.model} refuses calls that come without the signature of its thoughts, "
                "which an eval file cannot hold; end the case on a user message behind them, or take an older model",
            )


def _function_names(pattern: str, allowed: str) -> Check:
    """A check that functions are called as the API allows.

    Args:
        pattern: what a whole name matches.
        allowed: the same in words.
    """
    whole = re.compile(pattern)

    def check(draft: Draft) -> Broken:
        for message in draft.prompt:
            for call in message.tool_calls:
                if not whole.fullmatch(call.function.name):
                    yield (
                        message,
                        f"{draft.vendor} refuses the function name {call.function.name!r}; it takes {allowed}",
                    )

    return check


# --- what a turn holds


def _speaker_names(draft: Draft) -> Broken:
    for message in draft.prompt:
        if message.name is not None and not re.fullmatch(r"[^\s<|\\/>]+", message.name):
            yield (
                message,
                f"{draft.vendor} refuses the name {message.name!r}; it takes characters "
                "other than white space and < | \\ / >",
            )


# --- the order of turns


def _first_turn_not_the_users(draft: Draft) -> Broken:
    for message in draft.turns[:1]:
        if message.role != "user":
            yield (
                message,
                (
                    f"{draft.vendor} wants the user to speak first, and this is the {message.role}'s message; "
                    "put a user message in front"
                ),
            )


def _merged_turns(draft: Draft) -> Broken:
    for before, message in pairwise(draft.turns):
        # Results, and what the user says behind them, are one turn in any case.
        if before.role == message.role != "tool":
            yield (
                message,
                f"{draft.vendor} merges consecutive turns of one role, so the model sees this as one turn with "
                f"{where([before])}; join them in the case, or put an answer between them",
            )


def _answer_last(consequence: str) -> Check:
    """A check that a conversation does not end on an assistant message without calls.

    Args:
        consequence: what the API does with one; `{vendor}` and `{model}` are filled in.
    """

    def check(draft: Draft) -> Broken:
        for message in draft.turns[-1:]:
            if message.role == "assistant" and not message.tool_calls and draft.limits.prefill is not True:
                yield message, consequence.format(vendor=draft.vendor, model=draft.model)

    return check


def _prefill_not_supported(draft: Draft) -> Broken:
    if draft.limits.prefill is False:
        yield from _answer_last(
            "{vendor}'s {model} refuses an assistant message that comes last: it does not go on from a prefilled "
            "answer; end the case on a user message"
        )(draft)


def _trailing_blanks_in_prefill(draft: Draft) -> Broken:
    for message in draft.turns[-1:]:
        content = message.content or ""
        if message.role == "assistant" and not message.tool_calls and content != content.rstrip():
            yield message, f"{draft.vendor} refuses white space at the end of a final assistant message; take it away"


# --- settings


def _cap_above_limit(draft: Draft) -> Broken:
    cap, limit = draft.max_output_tokens, draft.limits.max_output_tokens
    if cap is not None and limit is not None and cap > limit:
        yield (
            None,
            f"max_output_tokens is {cap}, and {draft.vendor}'s {draft.model} gives at most {limit}; "
            "lower it, or set model_limits if this model gives more",
        )


def _temperature_not_taken(draft: Draft) -> Broken:
    default = 1
    if draft.limits.temperature is False and draft.temperature not in (None, default):
        yield (
            None,
            f"{draft.vendor}'s {draft.model} refuses a temperature other than {default}; leave it out, "
            "or set model_limits if this model takes one",
        )


def _temperature_removed(draft: Draft) -> Broken:
    # Versions are dates, so they are in the order of their letters.
    removed = "2026-10-21"
    if draft.temperature is not None and (draft.api_version or "") >= removed:
        yield (
            None,
            f"{draft.vendor} refuses a temperature since the API version {removed}; leave it out, "
            "or pin an older version",
        )


def _temperature_range(highest: float) -> Check:
    def check(draft: Draft) -> Broken:
        if draft.temperature is not None and draft.temperature > highest:
            yield None, f"temperature is {draft.temperature:g}, and {draft.vendor} takes 0 to {highest:g}"

    return check


# --- the rules of each API

_OPENAI: Final = "https://platform.openai.com/docs/api-reference/chat/create"
_OPENAI_TOOLS: Final = "https://platform.openai.com/docs/guides/function-calling"
_OPENAI_MODELS: Final = "https://platform.openai.com/docs/models"
_ANTHROPIC: Final = "https://platform.claude.com/docs/en/api/messages/create"
_ANTHROPIC_ERRORS: Final = "https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/error-codes.md"
_ANTHROPIC_PREFILL: Final = "https://platform.claude.com/docs/en/api/errors#prefill-not-supported"
_ANTHROPIC_BLANKS: Final = "https://docs.claude.com/en/docs/prefill-claudes-response"
_ANTHROPIC_TOOLS: Final = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"
_ANTHROPIC_TOOL_NAMES: Final = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools"
_ANTHROPIC_MODELS: Final = "https://platform.claude.com/docs/en/about-claude/models/overview"
_ANTHROPIC_SAMPLING: Final = "https://platform.claude.com/docs/en/api/versioning"
_GEMINI: Final = "https://ai.google.dev/api/generate-content"
_GEMINI_TOOLS: Final = "https://ai.google.dev/gemini-api/docs/function-calling"
_GEMINI_THOUGHTS: Final = "https://ai.google.dev/gemini-api/docs/thought-signatures"
_GEMINI_MODELS: Final = "https://ai.google.dev/gemini-api/docs/models"

OPENAI_RULES: Final = (
    Rule("tool-call-id", _OPENAI, _tool_messages_without_id),
    Rule("tool-result-content", _OPENAI, _results_without_content),
    Rule("tool-result-without-call", _OPENAI_TOOLS, _results_of_no_call),
    Rule("tool-call-without-result", _OPENAI_TOOLS, _calls_without_results),
    Rule("tool-result-order", _OPENAI_TOOLS, _results_out_of_order),
    Rule("function-name", _OPENAI, _function_names(r"[a-zA-Z0-9_-]{1,64}", "1 to 64 of a-z, A-Z, 0-9, _ and -")),
    Rule("speaker-name", _OPENAI, _speaker_names),
    Rule(
        "prefill",
        _OPENAI,
        _answer_last(
            "{vendor} does not go on from an assistant message that comes last, it answers anew after it; "
            "end the case on a user message"
        ),
    ),
    Rule("output-cap", _OPENAI_MODELS, _cap_above_limit),
    Rule("temperature", _OPENAI, _temperature_range(2)),
    Rule("temperature-fixed", _OPENAI_MODELS, _temperature_not_taken),
)

ANTHROPIC_RULES: Final = (
    Rule("tool-call-without-result", _ANTHROPIC_TOOLS, _calls_without_results),
    Rule("tool-result-order", _ANTHROPIC_TOOLS, _results_out_of_order),
    Rule("tool-result-twice", _ANTHROPIC_TOOLS, _results_given_twice),
    Rule(
        "function-name",
        _ANTHROPIC_TOOL_NAMES,
        _function_names(r"[a-zA-Z0-9_-]{1,128}", "1 to 128 of a-z, A-Z, 0-9, _ and -"),
    ),
    Rule("first-turn", _ANTHROPIC_ERRORS, _first_turn_not_the_users),
    Rule("merged-turns", _ANTHROPIC, _merged_turns),
    Rule("prefill", _ANTHROPIC_PREFILL, _prefill_not_supported),
    Rule("prefill-blanks", _ANTHROPIC_BLANKS, _trailing_blanks_in_prefill),
    Rule("output-cap", _ANTHROPIC_MODELS, _cap_above_limit),
    Rule("temperature", _ANTHROPIC, _temperature_range(1)),
    Rule("temperature-fixed", _ANTHROPIC_SAMPLING, _temperature_not_taken),
    Rule("temperature-removed", _ANTHROPIC_SAMPLING, _temperature_removed),
)

GEMINI_RULES: Final = (
    Rule("tool-call-without-result", _GEMINI_TOOLS, _calls_without_results),
    Rule("tool-result-order", _GEMINI_TOOLS, _results_out_of_order),
    Rule("tool-result-twice", _GEMINI_TOOLS, _results_given_twice),
    Rule("tool-call-order", _GEMINI_TOOLS, _calls_behind_an_answer),
    Rule("thought-signature", _GEMINI_THOUGHTS, _calls_without_thoughts),
    Rule(
        "function-name",
        _GEMINI,
        _function_names(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}", "a letter or _, then up to 127 of a-z, A-Z, 0-9, _ . : -"),
    ),
    Rule(
        "last-turn",
        _GEMINI,
        _answer_last("{vendor} wants the user or a tool to have the last turn; end the case on a user message"),
    ),
    Rule("output-cap", _GEMINI_MODELS, _cap_above_limit),
    Rule("temperature", _GEMINI, _temperature_range(2)),
)
