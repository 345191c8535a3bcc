"""What a snapshot shows, as JSON data: of what a provider sent, and of a value that a test compares."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from pytest_chatprompt.capture.secrets.redaction import map_texts
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.wording import shown_path

if TYPE_CHECKING:
    from pytest_chatprompt.apis.conversation import PromptPart
    from pytest_chatprompt.capture.sent_request import Exchange
    from pytest_chatprompt.prompt.conversion import SentFiles
    from pytest_chatprompt.providers.agents.base import AgentInvocation

# What a snapshot shows beside the data that is sent.
_NOT_SENT: Final = frozenset({"provider", "question", "adjustments"})


def payload_data(exchange: Exchange, root: Path) -> Any:
    """Only what was sent, as JSON data: a recorded answer is valid for exactly this.

    It is a list of endpoint, body and headers for each HTTP request; for an agent its invocation and its requests;
    the chat prompt that it was given if a provider sent nothing.
    """
    if exchange.invocation is not None:
        return _agent_data(exchange.invocation, exchange.sent, root)
    if not exchange.sent:
        return [message.as_dict() for message in exchange.request.chat_prompt or ()]
    return [[sent.endpoint, sent.body, *([dict(sent.headers)] if sent.headers else ())] for sent in exchange.sent]


def snapshot_data(exchange: Exchange, provider_name: str, root: Path, judge: Sequence[Exchange] = ()) -> dict[str, Any]:
    """Everything that the snapshot of an exchange shows, as JSON data in the order of the file.

    Several requests stand under `requests`. A provider that sent none shows `messages`, the chat prompt; an agent
    `argv`, `prompt`, `files` and its `requests`.
    """
    data = _case_data(exchange, provider_name, root)
    if judge:
        asked = (_case_data(each, provider_name, root) for each in judge)
        data["judge"] = [{key: value for key, value in each.items() if key not in _NOT_SENT} for each in asked]
    return data


def measure(
    sent: Sequence[SentRequest], data: Mapping[str, Any], files: SentFiles | None = None
) -> list[tuple[PromptPart, ...]]:
    """What fills the window of the model in each request; without one, in what the snapshot shows as given."""
    # Most runs measure nothing.
    from pytest_chatprompt.capture.prompt_size import prompt_parts  # noqa: PLC0415
    from pytest_chatprompt.snapshots.diff import prompts_of  # noqa: PLC0415

    return [prompt_parts(each, files) for each in sent or prompts_of(data).values()]


def _case_data(exchange: Exchange, provider_name: str, root: Path) -> dict[str, Any]:
    data: dict[str, Any] = {"provider": provider_name}
    question = {"question": exchange.request.question}
    if exchange.invocation is not None:
        from pytest_chatprompt.providers.agents.base import left_out  # noqa: PLC0415

        data |= question | _agent_data(exchange.invocation, exchange.sent, root)
        return data | _adjustments((*exchange.request.question_adjustments, *left_out(exchange.request)))
    match exchange.sent:
        case []:
            data |= question | {"messages": [message.as_dict() for message in exchange.request.chat_prompt or ()]}
        case [sent]:
            shown = sent.as_data()
            body = shown.pop("request")
            data |= shown | question | {"request": body}
        case requests:
            data |= question | {"requests": [sent.as_data() for sent in requests]}
    return data | _adjustments((*exchange.request.adjustments, *exchange.response.adjustments))


def _adjustments(adjustments: Sequence[str]) -> dict[str, Any]:
    return {"adjustments": list(adjustments)} if adjustments else {}


def _agent_data(invocation: AgentInvocation, sent: Sequence[SentRequest], root: Path) -> dict[str, Any]:
    """What an agent is given, and what it sent to its model, if that was captured, with `{rootdir}` for the folder."""
    # Most runs have no agent: they import nothing of agents.
    from pytest_chatprompt.providers.agents.base import portable_invocation, portable_text  # noqa: PLC0415

    # Not followed by more of a name: `/project` is not the folder of `/project-2`.
    root_pattern = re.compile(rf"{re.escape(str(root))}(?![\w-])")

    def portable(text: str) -> str:
        return root_pattern.sub("{rootdir}", portable_text(text, root))

    requests = [each.as_data() | {"request": map_texts(each.body, portable)} for each in sent]
    return portable_invocation(invocation, root) | ({"requests": requests} if requests else {})


def asserted_data(value: Any, root: Path) -> Any:
    """What the snapshot shows of a value that a test compares with it.

    `eval_api.sent` is shown as `requests`, messages as `messages`, a `ProviderRequest` by its fields that are set,
    within other data too. Values of other types stay as they are.
    """
    if isinstance(value, SentRequest) or is_sent(value):
        return {"requests": _converted([value] if isinstance(value, SentRequest) else value, root)}
    if isinstance(value, ChatMessage) or (value and _holds_only(value, ChatMessage)):
        return {"messages": _converted([value] if isinstance(value, ChatMessage) else value, root)}
    return _converted(value, root)


def is_sent(value: Any) -> bool:
    """Whether a value is `eval_api.sent`, or a list of what it holds."""
    return _holds_only(value, SentRequest) and (bool(value) or isinstance(value, tuple))


def _holds_only(value: Any, item_class: type) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, item_class) for item in value)


def _converted(value: Any, root: Path) -> Any:
    match value:
        case SentRequest():
            return value.as_data()
        case ProviderRequest():
            return _provider_request_data(value, root)
        case ChatMessage():
            return value.as_dict()
        case BaseModel():
            return _converted(value.model_dump(exclude_unset=True), root)
        case Path():
            return shown_path(value, root)
        case Mapping():
            if others := [key for key in value if not isinstance(key, str)]:
                raise SnapshotError(f"a snapshot cannot hold the key {others[0]!r}; compare data whose keys are text")
            return {key: _converted(item, root) for key, item in value.items()}
        case list() | tuple():
            return [_converted(item, root) for item in value]
    return value


def _provider_request_data(request: ProviderRequest, root: Path) -> dict[str, Any]:
    names = sorted(type(request).model_fields, key=lambda name: name != "eval_case_id")
    fields = {"messages" if name == "chat_prompt" else name: getattr(request, name) for name in names}
    # A captured request is not data; what it says is in the other fields.
    shown = {name: value for name, value in fields.items() if name == "question" or (value and name != "captured")}
    return {name: _converted(value, root) for name, value in shown.items()}
