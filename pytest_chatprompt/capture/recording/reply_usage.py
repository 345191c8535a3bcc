"""The usage of a reply of whatever API: how many tokens it says that the request used.

The body or the events of a reply come in, as a recording keeps them; a `TokenUsage` comes out. Pure; `metering` prices
requests with it, `items.usage` says what replayed replies save.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_chatprompt.providers.response import TokenUsage

# The names of the common APIs. Some count what concerns their cache, or thinking, beside the other tokens.
_KEYS: Final[Mapping[str, str]] = {
    "input_tokens": "input",
    "prompt_tokens": "input",
    "inputTokens": "input",
    "promptTokenCount": "input",
    "prompt_eval_count": "input",
    "output_tokens": "output",
    "completion_tokens": "output",
    "outputTokens": "output",
    "candidatesTokenCount": "output",
    "eval_count": "output",
    "cached_tokens": "read",
    "cachedContentTokenCount": "read",
    "cache_write_tokens": "written",
    "reasoning_tokens": "thoughts",
    "thinking_tokens": "thoughts",
    "cache_read_input_tokens": "read beside",
    "cacheReadInputTokens": "read beside",
    "cache_creation_input_tokens": "written beside",
    "cacheWriteInputTokens": "written beside",
    "toolUsePromptTokenCount": "tools beside",
    "thoughtsTokenCount": "thoughts beside",
    "ephemeral_1h_input_tokens": "written for an hour",
}
# Lists of parts of these counts, under the same names.
_PARTS: Final = frozenset({"cacheDetails"})


def read_usage(content: Mapping[str, Any]) -> TokenUsage:
    """The tokens that a recorded reply says it used; `None` where it does not say.

    Args:
        content: `body` or `events` of a recorded reply.
    """
    found: dict[str, int] = {}
    _find(content.get("events", content.get("body")), found)

    def total(*kinds: str) -> int | None:
        known = [found[kind] for kind in kinds if kind in found]
        return sum(known) if known else None

    return TokenUsage(
        input_tokens=total("input", "read beside", "written beside", "tools beside"),
        output_tokens=total("output", "thoughts beside"),
        cache_read_tokens=total("read", "read beside"),
        cache_write_tokens=total("written", "written beside"),
        cache_write_1h_tokens=total("written for an hour"),
        reasoning_tokens=total("thoughts", "thoughts beside"),
    )


def _find(data: Any, found: dict[str, int]) -> None:
    """Note the highest count of each kind: streams report how many it was so far."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            kind = _KEYS.get(key)
            if kind is not None and isinstance(value, int) and not isinstance(value, bool):
                found[kind] = max(value, found.get(kind, 0))
            elif key not in _PARTS:
                _find(value, found)
    elif isinstance(data, list):
        for item in data:
            _find(item, found)
