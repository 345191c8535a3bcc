"""Where a body is not that of the vendor's SDK, on purpose: docs/providers.md lists the same, with the reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final


def _drop_empty_config(body: Any) -> None:
    # Given any config, the SDK sends `generationConfig`, even if it is empty.
    if not body.get("generationConfig", True):
        del body["generationConfig"]


def _drop_system_role(body: Any) -> None:
    # The SDK gives every content that it makes from a string the role `user`
    # (https://ai.google.dev/api/generate-content: a system instruction has none).
    if "systemInstruction" in body:
        assert body["systemInstruction"].pop("role") == "user"


def _write_in_camel_case(body: Any) -> None:
    # The SDK leaves these names as they are in Python (https://ai.google.dev/api/caching#Part,
    # https://ai.google.dev/api/caching#FunctionDeclaration, https://ai.google.dev/api/generate-content#ThinkingConfig).
    names = {
        "mime_type": "mimeType",
        "file_uri": "fileUri",
        "parameters_json_schema": "parametersJsonSchema",
        "thinking_level": "thinkingLevel",
    }
    for value in body if isinstance(body, list) else list(body.values()):
        if isinstance(value, dict | list):
            _write_in_camel_case(value)
    for name in names.keys() & set(body if isinstance(body, dict) else ()):
        body[names[name]] = body.pop(name)


def _write_usual_base64(body: Any) -> None:
    for content in body["contents"]:
        for part in content["parts"]:
            if "inlineData" in part:
                data = part["inlineData"]["data"]
                part["inlineData"]["data"] = data.replace("-", "+").replace("_", "/")


def _add_null_content(body: Any) -> None:
    for message in body["messages"]:
        if "tool_calls" in message:
            message.setdefault("content", None)


def _drop_defaults(body: Any) -> None:
    assert body.pop("stream") is False
    for message in body["messages"]:
        if message["role"] == "assistant":
            assert message.pop("prefix") is False
            for call in message.get("tool_calls", ()):
                assert call.pop("index") == 0


# By the API and what its SDK sends, as the table says it: what makes our body of the SDK's.
SDK_DIFFERENCES: Final[dict[tuple[str, str], Callable[[Any], Any]]] = {
    ("Azure", "`model` in the body, beside the deployment in the path"): lambda body: body.pop("model"),
    ("OpenAI and the like", "no `content` beside `tool_calls`, where its user wrote none"): _add_null_content,
    ("Gemini", "an empty `generationConfig`"): _drop_empty_config,
    ("Gemini", "`role: user` in `systemInstruction`"): _drop_system_role,
    ("Gemini", "some names in snake case, such as `mime_type`"): _write_in_camel_case,
    ("Gemini", "base64 in the alphabet for URLs"): _write_usual_base64,
    ("Mistral", "`stream: false`, `prefix: false`, `index: 0`"): _drop_defaults,
}


def as_ours(request: tuple[str, Any], *apis: str) -> tuple[str, Any]:
    """A request of an SDK, with the body that we send to an API: its own differences, and only these, are gone."""
    path, body = request
    for (api, _), change in SDK_DIFFERENCES.items():
        if api in apis:
            change(body)
    return path, body
