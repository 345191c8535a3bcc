"""Checks, cases and answers to grade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_chatprompt import (
    EvalCase,
    EvalCheck,
    EvalMessage,
    FileReader,
    ProviderResponse,
    SentData,
    TokenUsage,
    ToolCall,
)
from pytest_chatprompt.cases.origin import Origin, YamlSource
from pytest_chatprompt.grading.grade import GradedCheck, grade
from pytest_chatprompt.grading.table import parse_checks

SOURCE = YamlSource("evalcases:\n  - id: a\n")


def case_with(*checks: EvalCheck) -> EvalCase:
    """A case of an eval file, to which a fixture added these checks."""
    case = EvalCase(id="a", input_messages=[EvalMessage(role="user", content="hi")], checks=checks)  # type: ignore[arg-type]
    case._origin = Origin(Path("/nowhere/a.eval.yaml"), "a.eval.yaml", 2, 5, SOURCE, 0)
    return case


def check_of(data: dict[str, Any]) -> EvalCheck:
    """A check from its keys as an author writes them."""
    return EvalCheck(data["type"], {key: value for key, value in data.items() if key != "type"})


def graded(data: dict[str, Any], subject: ProviderResponse | SentData | str) -> GradedCheck:
    """Parse a check and grade an answer by it."""
    case = case_with(check_of(data))
    (check,) = parse_checks(case, FileReader(Path("/nowhere")))
    return grade(check, case, ProviderResponse(text=subject) if isinstance(subject, str) else subject)


def calling(*calls: tuple[str, str], text: str = "") -> ProviderResponse:
    """An answer that calls tools, each with its arguments as JSON text."""
    tool_calls = [
        ToolCall.model_validate({"id": f"call_{number}", "function": {"name": name, "arguments": arguments}})
        for number, (name, arguments) in enumerate(calls)
    ]
    return ProviderResponse(text=text, tool_calls=tuple(tool_calls))


def taking(
    *, seconds: float | None = None, tokens: int | None = None, dollars: float | None = None
) -> ProviderResponse:
    """An answer that took some time, tokens and US dollars."""
    usage = TokenUsage(output_tokens=tokens)
    return ProviderResponse(text="x", latency_seconds=seconds, usage=usage, cost_usd=dollars)
