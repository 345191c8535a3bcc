"""`tool_called`: whether an answer calls a tool, with the arguments that are given.

In: the tool's name, and arguments. Out: a verdict with the calls that there are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.grading.check import Check, Verdict
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.text.json_data import require_json_mapping, thaw


class ToolCalled(Check):
    """Passes where one of the answer's calls is of this tool, and has at least these arguments."""

    value: NonEmptyString
    arguments: Annotated[Mapping[str, Any], PlainValidator(require_json_mapping)] = {}

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        calls = [call.function for call in response.tool_calls if call.function.name == self.value]
        if not calls:
            names = list(dict.fromkeys(call.function.name for call in response.tool_calls))
            return Verdict(False, f"calls {', '.join(names)} and not {self.value}" if names else "calls no tool")
        expected = thaw(self.arguments)
        for call in calls:
            if not expected or _fits(_parse(call.arguments), expected):
                return Verdict(True, f"calls {self.value}({call.arguments})")
        return Verdict(False, f"calls {', '.join(f'{self.value}({call.arguments})' for call in calls)}")


def _parse(arguments: str) -> Any:
    """The arguments of a call; `None` for what is not JSON, which models do write."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


def _fits(data: Any, expected: Any) -> bool:
    """Whether data is what is expected, as JSON tells values apart; mappings may have more keys."""
    if isinstance(expected, dict):
        return isinstance(data, dict) and all(
            key in data and _fits(data[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(data, list) and len(data) == len(expected) and all(map(_fits, data, expected))
    # In Python, and not in JSON, True is 1.
    return isinstance(data, bool) == isinstance(expected, bool) and bool(data == expected)
