"""`Reply`: what a test wants the model to reply, in the terms that all APIs share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_chatprompt.providers.response import replace_surrogates
from pytest_chatprompt.wording import did_you_mean

_CALL_KEYS: Final = ("name", "arguments", "id")
_USAGE_KEYS: Final = ("input_tokens", "output_tokens")
# The names that APIs use for the same.
_OTHER_NAMES: Final = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "input": "arguments"}
_FIRST_ERROR: Final = 400
_LAST_ERROR: Final = 599


@dataclass(frozen=True)
class Reply:
    """What the model replies, in the terms that all APIs share.

    Args:
        text: the text.
        tool_calls: each a mapping with `name`, `arguments` (a mapping, empty by default) and `id` (made up by default).
        json: JSON data, as the text of the reply; as the arguments of the tool, if the request forces one.
        usage: a mapping with `input_tokens` and `output_tokens`; 0 by default.
        finish_reason: `stop`, `length`, `tool_calls`, `content_filter`, or the API's own word; by default what fits.
        error: the status of an error, from 400 to 599, in place of all of these.

    Raises:
        ValueError, TypeError: an argument is invalid, or two of them exclude each other.
    """

    text: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    json: Any = None
    usage: Mapping[str, int] | None = None
    finish_reason: str | None = None
    error: int | None = None

    def __post_init__(self) -> None:
        if self.text is not None and not isinstance(self.text, str):
            raise TypeError(f"text must be a str, not {_type(self.text)}; give data as json={{...}}")
        if self.text is not None and replace_surrogates(self.text) != self.text:
            raise ValueError("text holds half a character (a lone surrogate), which no reply can hold")
        if self.finish_reason is not None and not (isinstance(self.finish_reason, str) and self.finish_reason):
            raise TypeError(f"finish_reason must be a word such as 'length', not {self.finish_reason!r}")
        object.__setattr__(self, "tool_calls", _checked_calls(self.tool_calls))
        if self.json is not None:
            object.__setattr__(self, "json", _json_copy(self.json, "json"))
        if self.usage is not None:
            object.__setattr__(self, "usage", _checked_usage(self.usage))
        self._check_combination()

    def _check_combination(self) -> None:
        content = [name for name in ("text", "tool_calls", "json") if getattr(self, name) not in (None, ())]
        rest = [name for name in ("usage", "finish_reason") if getattr(self, name) is not None]
        if self.error is not None:
            if not isinstance(self.error, int) or not _FIRST_ERROR <= self.error <= _LAST_ERROR:
                raise ValueError(f"error must be an HTTP status from 400 to 599, such as 429, not {self.error!r}")
            if content or rest:
                raise ValueError(f"error stands alone: leave out {' and '.join(content + rest)}")
        elif "json" in content and len(content) > 1:
            raise ValueError(f"give json or {content[0]}, not both: json is the whole text of a reply")
        elif not content and not rest:
            raise ValueError("the reply is empty; give one of text, tool_calls, json or error")


def _checked_calls(calls: Any) -> tuple[Mapping[str, Any], ...]:
    if isinstance(calls, str | Mapping) or not isinstance(calls, Iterable):
        raise TypeError(
            f"tool_calls must be a list of mappings, [{{'name': ..., 'arguments': {{...}}}}], not {calls!r}"
        )
    return tuple(_checked_call(call, f"tool_calls[{index}]") for index, call in enumerate(calls))


def _checked_call(call: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(call, Mapping):
        raise TypeError(f"{place} must be a mapping, {{'name': ..., 'arguments': {{...}}}}, not {call!r}")
    _check_keys(call, _CALL_KEYS, place)
    name = call.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"{place} needs the name of the tool: {{'name': ..., 'arguments': {{...}}}}")
    arguments = call.get("arguments", {})
    if not isinstance(arguments, Mapping):
        raise TypeError(f"{place}: arguments must be a mapping, not {_type(arguments)}")
    checked = {"name": name, "arguments": _json_copy(arguments, f"{place}: arguments")}
    if (call_id := call.get("id")) is not None:
        if not isinstance(call_id, str) or not call_id:
            raise TypeError(f"{place}: id must be a text, not {call_id!r}; leave it out to have one made up")
        checked["id"] = call_id
    return checked


def _checked_usage(usage: Any) -> Mapping[str, int]:
    if not isinstance(usage, Mapping):
        raise TypeError(f"usage must be a mapping, {{'input_tokens': 3, 'output_tokens': 5}}, not {usage!r}")
    _check_keys(usage, _USAGE_KEYS, "usage")
    for name, count in usage.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError(f"usage: {name} must be a number of tokens, not {count!r}")
    return dict(usage)


def _check_keys(mapping: Mapping[Any, Any], known: Sequence[str], place: str) -> None:
    for key in mapping:
        if key not in known:
            close = _OTHER_NAMES.get(key)
            hint = (
                f"did you mean {close!r}?"
                if close in known
                else did_you_mean(str(key), known) or f"known are {', '.join(known)}"
            )
            raise ValueError(f"{place}: unknown key {key!r}; {hint}")


def _json_copy(value: Any, place: str) -> Any:
    """Copy JSON data, so that later changes to the original have no effect."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=_refuse))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{place} cannot be written as JSON: {error}") from error


def _refuse(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{_type(value)} is not JSON data")


def _type(value: object) -> str:
    return type(value).__name__
