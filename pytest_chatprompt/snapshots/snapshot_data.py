"""What a snapshot shows of an `Exchange`, as JSON data.

An `Exchange` comes in; the data that `serializer` writes comes out. HTTP bodies are as decoded from the bytes sent.
Pure functions: `items` and `live` compare the data with the snapshot, `recording_place` hashes what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_chatprompt.capture.sent_request import Exchange
    from pytest_chatprompt.providers.agents.base import AgentInvocation

# What a snapshot shows beside the data that is sent.
_NOT_SENT: Final = frozenset({"provider", "question", "adjustments"})


def payload_data(exchange: Exchange, root: Path) -> Any:
    """Only what was sent, as JSON data: a recorded answer is valid for exactly this.

    Args:
        exchange: what a provider sent, as captured.
        root: pytest's root folder; the paths of an agent become relative to it.

    Returns:
        A list of endpoint, body and headers for each HTTP request. For an agent, its invocation and its requests; if a
        provider sent nothing, the chat prompt that it was given.
    """
    if exchange.invocation is not None:
        return _invocation_data(exchange.invocation, root) | _requests_of_agent(exchange, root)
    if not exchange.sent:
        return [message.as_dict() for message in exchange.request.chat_prompt or ()]
    return [[sent.endpoint, sent.body, *([dict(sent.headers)] if sent.headers else ())] for sent in exchange.sent]


def snapshot_data(exchange: Exchange, provider_name: str, root: Path, judge: Sequence[Exchange] = ()) -> dict[str, Any]:
    """Everything that the snapshot of an exchange shows, as JSON data in the order of the file.

    Args:
        exchange: what a provider sent, as captured.
        provider_name: the name that the case, the file or the option gives.
        root: pytest's root folder; the paths of an agent become relative to it.
        judge: what the judge of the answer will be sent, a request for each check that asks it.

    Returns:
        The keys `provider`, `endpoint`, `headers`, `question`, `request`, `adjustments` and `judge`; `headers` and the
        last two only if there are any. `judge` is a list of what is sent, without the other keys. Instead of
        `endpoint`, `headers` and `request` there are `requests`, each with these, if the provider sent several;
        `messages`, the chat prompt, if it sent none; `argv`, `prompt` and `files` for an agent, and its `requests` if
        they were captured.
    """
    data = _case_data(exchange, provider_name, root)
    if judge:
        asked = (_case_data(each, provider_name, root) for each in judge)
        data["judge"] = [{key: value for key, value in each.items() if key not in _NOT_SENT} for each in asked]
    return data


def _case_data(exchange: Exchange, provider_name: str, root: Path) -> dict[str, Any]:
    data: dict[str, Any] = {"provider": provider_name}
    if exchange.invocation is not None:
        from pytest_chatprompt.providers.agents.base import left_out  # noqa: PLC0415

        data |= {"question": exchange.request.question, **_invocation_data(exchange.invocation, root)}
        data |= _requests_of_agent(exchange, root)
        return data | _adjustments((*exchange.request.question_adjustments, *left_out(exchange.request)))
    match exchange.sent:
        case []:
            prompt = exchange.request.chat_prompt or ()
            data["question"] = exchange.request.question
            data["messages"] = [message.as_dict() for message in prompt]
        case [sent]:
            shown = sent.as_data()
            body = shown.pop("request")
            data |= {**shown, "question": exchange.request.question, "request": body}
        case requests:
            data["question"] = exchange.request.question
            data["requests"] = [sent.as_data() for sent in requests]
    return data | _adjustments((*exchange.request.adjustments, *exchange.response.adjustments))


def _adjustments(adjustments: Sequence[str]) -> dict[str, Any]:
    return {"adjustments": list(adjustments)} if adjustments else {}


def _invocation_data(invocation: AgentInvocation, root: Path) -> dict[str, Any]:
    # Most runs have no agent: they import nothing of agents.
    from pytest_chatprompt.providers.agents.base import portable_invocation  # noqa: PLC0415

    return portable_invocation(invocation, root)


def _requests_of_agent(exchange: Exchange, root: Path) -> dict[str, Any]:
    """What an agent sent to its model, if it was captured; pytest's root folder is `{rootdir}` in it."""
    if not exchange.sent:
        return {}
    from pytest_chatprompt.providers.agents.base import portable_text  # noqa: PLC0415

    # Not followed by more of a name: `/project` is not the folder of `/project-2`.
    root_pattern = re.compile(rf"{re.escape(str(root))}(?![\w-])")

    def portable(data: Any) -> Any:
        match data:
            case str():
                return root_pattern.sub("{rootdir}", portable_text(data, root))
            case dict():
                return {portable(key): portable(value) for key, value in data.items()}
            case list():
                return [portable(item) for item in data]
        return data

    return {"requests": [sent.as_data() | {"request": portable(sent.body)} for sent in exchange.sent]}
