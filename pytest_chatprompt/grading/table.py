"""The table of the types of checks: one line for each.

In: the name of a type, as an author wrote it. Out: the class of its checks. Other packages add types by the entry point
group `pytest_chatprompt.checks`; they are looked for where this table does not know a name. `parsing` asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from pytest_chatprompt.grading.check import Check
from pytest_chatprompt.grading.check_description import NEGATION
from pytest_chatprompt.grading.is_json import IsJson
from pytest_chatprompt.grading.llm_rubric import LlmRubric
from pytest_chatprompt.grading.python_check import Python
from pytest_chatprompt.grading.regex import Regex
from pytest_chatprompt.grading.text_checks import (
    Contains,
    ContainsAll,
    ContainsAny,
    Equals,
    IContains,
    IContainsAll,
    IContainsAny,
    StartsWith,
)
from pytest_chatprompt.grading.tool_called import ToolCalled
from pytest_chatprompt.grading.usage_limits import MaxCostUsd, MaxLatencySeconds, MaxOutputTokens
from pytest_chatprompt.wording import did_you_mean

ENTRY_POINT_GROUP: Final = "pytest_chatprompt.checks"

# By the name that an eval file uses.
CHECKS: Final[Mapping[str, type[Check]]] = {
    "equals": Equals,
    "contains": Contains,
    "icontains": IContains,
    "contains_any": ContainsAny,
    "contains_all": ContainsAll,
    "icontains_any": IContainsAny,
    "icontains_all": IContainsAll,
    "starts_with": StartsWith,
    "regex": Regex,
    "is_json": IsJson,
    "tool_called": ToolCalled,
    "llm_rubric": LlmRubric,
    "max_latency_seconds": MaxLatencySeconds,
    "max_output_tokens": MaxOutputTokens,
    "max_cost_usd": MaxCostUsd,
    "python": Python,
}
# Words of promptfoo and AgentV for what has another name here.
_OTHER_WORDS: Final[Mapping[str, str]] = {
    "contains_json": "regex",
    "cost": "max_cost_usd",
    "is_valid_openai_tools_call": "tool_called",
    "javascript": "python",
    "latency": "max_latency_seconds",
    "script": "python",
    "tool_trajectory": "tool_called",
}


class UnknownTypeError(Exception):
    """No type of check has the name; the text says what to write."""


def find_type(written: str) -> tuple[type[Check], bool]:
    """Find the class that grades a type of check, and whether its opposite is meant.

    Args:
        written: its name as the author wrote it; `-` is read as `_`, as other tools have it.

    Returns:
        The class of its checks, and whether the opposite is meant (`not_...`).

    Raises:
        UnknownTypeError: there is no such type, or its package cannot be loaded.
    """
    name = written.replace("-", "_")
    is_negated = name.startswith(NEGATION)
    name = name.removeprefix(NEGATION)
    return CHECKS.get(name) or _installed_type(name, written), is_negated


def _installed_type(name: str, written: str) -> type[Check]:
    entry = _installed().get(name)
    if entry is None:
        raise UnknownTypeError(f"unknown check type: {written!r}; {_suggestion(name)}")
    try:
        check = entry.load()
    except Exception as error:
        raise UnknownTypeError(
            f"the check type {written!r} cannot be loaded from {entry.value}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(check, type) or not issubclass(check, Check):
        raise UnknownTypeError(
            f"the check type {written!r} is not a subclass of pytest_chatprompt.Check: {entry.value}"
        )
    return check


@cache
def _installed() -> Mapping[str, EntryPoint]:
    # Looking through all packages takes longer than a case.
    return {entry.name.replace("-", "_"): entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def _suggestion(name: str) -> str:
    if name in _OTHER_WORDS:
        return f"here this is {_OTHER_WORDS[name]!r}"
    known = [*CHECKS, *_installed()]
    opposites = [f"{NEGATION}{known_name}" for known_name in known]
    return did_you_mean(name, [*known, *opposites]) or f"the types are {', '.join(known)}, and not_... of each"
