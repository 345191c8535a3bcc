"""Answers in words: one in a line, one with all that is known of it, and the totals of many in a table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pytest_chatprompt.results.records import AttemptResult, CaseResult, CheckResult, ResponseResult, RunResults
from pytest_chatprompt.wording import count, cut, dollars, grouped, visible_line

_LEAST_EXCERPT: Final = 24
_OUTCOMES: Final = {"passed": "passed", "failed": "failed", "error": "is unknown"}


def answer_line(response: ResponseResult, width: int) -> str:
    """The beginning of an answer and what it took: `'As soon as …' (0.41 s, 10 input and 3 output tokens)`."""
    facts = f" ({', '.join(parts)})" if (parts := list(answer_facts(response))) else ""
    room = max(width - len(facts), _LEAST_EXCERPT)
    text = " ".join(response.text.split())
    # Room for the quotes.
    parts = [*([repr(cut(text, room - 2))] if text else []), *called_tools(response)]
    shown = "; ".join(parts) or "no text"
    return f"{cut(visible_line(shown), room)}{facts}"


def case_line(result: CaseResult, width: int) -> str | None:
    """The answer of a case in one line; of a repeated case the first that does not pass. `None` without one."""
    if result.repeats is None:
        return None if result.response is None else answer_line(result.response, width)
    attempts = result.repeats.attempts
    told = next((attempt for attempt in attempts if attempt.outcome != "passed"), attempts[0])
    rate = f"{result.repeats.passed}/{result.repeats.answers} passed"
    head = f"{rate}; answer {told.number} {_OUTCOMES[told.outcome]}: "
    room = width - len(head)
    if told.response is not None:
        return head + answer_line(told.response, room)
    return head + cut(visible_line(told.problem.partition("\n")[0]), max(room, _LEAST_EXCERPT))


def answer_section(response: ResponseResult, checks: tuple[CheckResult, ...]) -> str:
    """The whole answer, what it took, and what its checks said, as the section of a report."""
    calls = [f"[{call}]" for call in called_tools(response)]
    facts = ", ".join(answer_facts(response))
    parts = [response.text, *calls, f"({facts})" if facts else "", *(check.sentence for check in checks)]
    return "\n".join(part for part in parts if part)


def case_section(result: CaseResult) -> str:
    """All answers of a case, each with what its checks said; of one that is sent once just that."""
    if result.versions is not None:
        sides = (("before", result.versions.before), ("after", result.versions.after))
        parts = [f"{name}, {part}" for name, side in sides for part in _attempts(side.attempts)]
        return "\n\n".join(parts)
    if result.repeats is None:
        return "" if result.response is None else answer_section(result.response, result.checks)
    from pytest_chatprompt.results.wording import describe_rate  # noqa: PLC0415 - most cases are sent once

    parts = [describe_rate(result.repeats.passed, result.repeats.answers, result.repeats.interval)]
    parts += _attempts(result.repeats.attempts, f" of {result.repeats.planned}")
    return "\n\n".join([*parts, *(check.sentence for check in result.checks)])


def _attempts(attempts: Iterable[AttemptResult], of: str = "") -> Iterator[str]:
    """The answers of a case that is sent several times, one by one."""
    for attempt in attempts:
        text = answer_section(attempt.response, attempt.checks) if attempt.response else attempt.problem
        yield f"answer {attempt.number}{of}: {attempt.outcome}\n{text}"


def called_tools(response: ResponseResult) -> Iterator[str]:
    """The tools that an answer calls, as `calls get_time({"zone": "UTC"})`."""
    for call in response.tool_calls:
        function: Any = call.get("function", call) if isinstance(call, dict) else {}
        arguments = function.get("arguments", "")
        shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield f"calls {function.get('name', '?')}({shown})"


def answer_facts(response: ResponseResult) -> Iterator[str]:
    """What an answer took, a few words each: its requests if not one, time, tokens and cost, and if it is replayed."""
    if response.requests != 1:
        yield f"{response.requests} requests"
    if response.latency_seconds is not None:
        yield f"{response.latency_seconds:.2f} s"
    counts = {"input": response.input_tokens, "output": response.output_tokens}
    known = [f"{tokens} {name}" for name, tokens in counts.items() if tokens is not None]
    if known:
        yield f"{' and '.join(known)} tokens"
    if response.cost_usd is not None:
        yield dollars(response.cost_usd)
    if response.is_replayed:
        yield "replayed"


Row = tuple[str, ...]


class Rate(NamedTuple):
    """How many of some passed."""

    passed: int = 0
    total: int = 0

    @classmethod
    def of(cls, passed: Sequence[bool]) -> Rate:
        """The rate of some that passed, or did not."""
        return cls(sum(passed), len(passed))

    def __str__(self) -> str:
        return f"{self.passed}/{self.total} ({self.passed / self.total:.0%})" if self.total else "-"


def pass_rate(run: RunResults) -> str:
    """How many cases of a live or replayed run passed, as its headline; empty for any other run."""
    rate = Rate.of([result.outcome == "passed" for result in run.results if result.outcome != "skipped"])
    if not rate.total or not (run.is_live or any(result.responses for result in run.results)):
        return ""
    return f"{rate.passed} of {count(rate.total, 'case')} passed ({rate.passed / rate.total:.0%})"


class Total(NamedTuple):
    """What some cases came to, those that were skipped left out; a check that could not be graded did not pass."""

    name: str
    cases: Rate
    checks: Mapping[str, Rate]
    responses: Sequence[ResponseResult]

    def known(self, field: str) -> list[Any]:
        """The values of a field of the answers that are known."""
        values = (getattr(response, field) for response in self.responses)
        return [value for value in values if value is not None]


def provider_totals(results: Iterable[CaseResult]) -> list[Total]:
    """The totals of each provider that answered at least once, in the order of the run."""
    groups = grouped((result.provider or "own code", result) for result in results)
    return [total for provider, group in groups.items() if (total := total_of(provider, group)) is not None]


def total_of(name: str, results: Sequence[CaseResult]) -> Total | None:
    """The total of some results; `None` without answers."""
    responses = [response for result in results for response in result.responses]
    verdicts = grouped((check.name, bool(check.passed)) for result in results for check in result.all_checks)
    cases = Rate.of([result.outcome == "passed" for result in results if result.outcome != "skipped"])
    checks = {check: Rate.of(passed) for check, passed in verdicts.items()}
    return Total(name, cases, checks, responses) if responses else None


def table_rows(totals: Sequence[Total]) -> list[Row]:
    """The rows of the table, each with its name first; the first one names the columns. Empty for no totals."""
    return [(name, *cells) for name, cells in _rows(totals)] if totals else []


def _rows(totals: Sequence[Total]) -> Iterator[tuple[str, list[str]]]:
    yield "", [total.name for total in totals]
    types = list(dict.fromkeys(name for total in totals for name in total.checks))
    for check in types:
        yield check, [str(total.checks.get(check, Rate())) for total in totals]
    if len(types) > 1:
        yield "all checks", [str(Rate(*map(sum, zip(*total.checks.values(), strict=True)))) for total in totals]
    yield "cases", [str(total.cases) for total in totals]
    if any(len(total.responses) != total.cases.total for total in totals):
        yield "answers", [str(len(total.responses)) for total in totals]
    if any(response.requests != 1 for total in totals for response in total.responses):
        yield "requests", [str(sum(total.known("requests"))) for total in totals]
    latencies = [total.known("latency_seconds") for total in totals]
    yield "median latency", [_shown("{:.2f} s", statistics.median, seconds) for seconds in latencies]
    for name in ("input tokens", "output tokens"):
        yield name, [_shown("{:,}", sum, total.known(name.replace(" ", "_"))) for total in totals]
    if any(total.known("cost_usd") for total in totals):
        # Of replayed answers what they cost when they were recorded.
        yield "cost", [known_sum([each.cost_usd for each in total.responses], dollars) for total in totals]


def _shown(form: str, combine: Callable[[list[Any]], float], values: list[Any]) -> str:
    return form.format(combine(values)) if values else "unknown"


def known_sum(numbers: Sequence[Any], show: Callable[[Any], str]) -> str:
    """A sum, and how many answers lack the number: `$0.12`, `$0.12 + 3 unknown`, `unknown`."""
    known = [number for number in numbers if isinstance(number, int | float)]
    unknown = len(numbers) - len(known)
    if numbers and not known:
        return "unknown"
    return f"{show(sum(known))} + {unknown} unknown" if unknown else show(sum(known))
