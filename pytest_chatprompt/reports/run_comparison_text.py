"""The comparison of two runs as text, for the terminal and the log of a job.

A `RunComparison` comes in; lines come out: a headline, what got worse, what got better, what answers or sends something
else, new and gone cases, and both runs side by side. Pure; the command line prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_chatprompt.reports.answer_text import called_tools, check_line
from pytest_chatprompt.reports.comparison_table import table_rows
from pytest_chatprompt.reports.provider_totals import run_total
from pytest_chatprompt.reports.text_table import table_lines
from pytest_chatprompt.results.case_result import CaseResult, ResponseResult
from pytest_chatprompt.results.run_comparison import CaseComparison, Kind, RunComparison, rate_of
from pytest_chatprompt.wording import count, visible_line

_TITLES: Final[dict[Kind, str]] = {"worse": "Worse", "better": "Better", "changed": "Changed"}
_LONGEST_ANSWER: Final = 240
# How much of an answer stands before what changed in it.
_BEFORE: Final = 60


def comparison_lines(comparison: RunComparison, names: tuple[str, str]) -> Iterator[str]:
    """Say what came of the second run beside the first.

    Args:
        comparison: of the runs.
        names: of their files.
    """
    numbers = {kind: len(comparison.of_kind(kind)) for kind in _TITLES}
    same = len(comparison.of_kind("same"))
    counts = f"{numbers['worse']} worse, {numbers['better']} better, {numbers['changed']} changed, {same} the same"
    yield f"{' → '.join(names)}: {counts}, {len(comparison.new)} new, {len(comparison.gone)} gone"
    for kind, title in _TITLES.items():
        yield from _section(title, [list(_case_lines(case)) for case in comparison.of_kind(kind)])
    for title, results in (("New", comparison.new), ("Gone", comparison.gone)):
        yield from _section(title, [[f"{result.node_id}: {result.outcome}"] for result in results])
    yield from _totals(comparison, names)


def _section(title: str, cases: Sequence[Sequence[str]]) -> Iterator[str]:
    if cases:
        yield ""
        yield f"{title} ({len(cases)})"
    for first, *others in cases:
        yield f"  {first}"
        yield from (f"    {line}" for line in others)


def _case_lines(case: CaseComparison) -> Iterator[str]:
    before, after = case.before, case.after
    facts = [after.outcome if before.outcome == after.outcome else f"{before.outcome} → {after.outcome}"]
    rates = rate_of(before), rate_of(after)
    if rates[0] != rates[1]:
        facts.append(f"{rates[0] or 'one answer'} → {rates[1] or 'one answer'} passed")
    if before.provider != after.provider:
        facts.append(f"sent to {after.provider or 'no provider'}, formerly to {before.provider or 'no provider'}")
    elif case.is_request_changed:
        facts.append("what is sent changed")
    elif case.is_answer_changed and case.is_request_changed is False:
        facts.append("what is sent is the same")
    yield f"{after.node_id}: {'; '.join(facts)}"
    for check in (*case.failing, *case.passing):
        place = f"{check.place}: " if check.place else ""
        yield f"{place}{check_line(check)}"
    if after.error is not None and not case.failing:
        yield after.error.message
    if case.is_answer_changed:
        yield from (f"{sign} {text}" for sign, text in zip("-+", _answers(before, after), strict=True))


def _answers(before: CaseResult, after: CaseResult) -> tuple[str, str]:
    """Both answers in a line each, cut to the part that changed."""
    one, other = _answer(before), _answer(after)
    pairs = zip(one, other, strict=False)
    shorter = min(len(one), len(other))
    first = next((index for index, (a, b) in enumerate(pairs) if a != b), shorter)
    start = first - _BEFORE if first > _LONGEST_ANSWER - _BEFORE else 0
    return _excerpt(one, start), _excerpt(other, start)


def _answer(result: CaseResult) -> str:
    response = result.response or ResponseResult(text="")
    return visible_line("\n".join([response.text] * bool(response.text) + [*called_tools(response)]))


def _excerpt(text: str, start: int) -> str:
    end = start + _LONGEST_ANSWER
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _totals(comparison: RunComparison, names: tuple[str, str]) -> Iterator[str]:
    """The cases of both runs side by side; nothing if one has no answers."""
    results = ([case.before for case in comparison.cases], [case.after for case in comparison.cases])
    totals = [run_total(name, cases) for name, cases in zip(names, results, strict=True)]
    known = [total for total in totals if total is not None]
    if len(known) > 1:
        yield ""
        yield f"{count(len(comparison.cases), 'case')} of both runs:"
        yield from table_lines(table_rows(known))
