"""Asserted data: what a snapshot shows of a value that a test compares with it.

`eval_api.sent`, requests, messages or plain data come in; JSON data comes out. Pure; `items` calls it, and `assertion`
asks `is_sent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.wording import shown_path


def asserted_data(value: Any, root: Path) -> Any:
    """What the snapshot shows of a value.

    Args:
        value: what a test compares with its snapshot.
        root: pytest's root folder; paths become relative to it.

    Returns:
        For `eval_api.sent` the key `requests`, each with its `endpoint`, `headers` and `request`; for a
        `ProviderRequest` a key for each field that is set; for messages the key `messages`. The same objects within
        other data are shown in their place. Values of other types stay as they are.
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
            return {key: _converted(item, root) for key, item in value.items()}
        case list() | tuple():
            return [_converted(item, root) for item in value]
    return value


def _provider_request_data(request: ProviderRequest, root: Path) -> dict[str, Any]:
    names = sorted(type(request).model_fields, key=lambda name: name != "eval_case_id")
    fields = {"messages" if name == "chat_prompt" else name: getattr(request, name) for name in names}
    return {name: _converted(value, root) for name, value in fields.items() if value or name == "question"}
