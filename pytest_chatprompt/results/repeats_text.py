"""What is said of a case that was sent several times: its rate, with its interval, and what did not pass.

The attempts of a case come in; a `RepeatsResult` comes out, and texts of it; of all cases of a run, the lines of its
summary. Pure; `items.repeated_case` raises and records the texts, `items.usage_summary` shows the lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pytest_chatprompt.grading.pass_rate import RequiredPasses, wilson_interval
from pytest_chatprompt.results.case_result import AttemptResult, RepeatsResult

_MOST_CASES: Final = 10


def repeats_result(required: RequiredPasses, attempts: Iterable[AttemptResult]) -> RepeatsResult:
    """The result of a repeated case.

    Args:
        required: how many answers have to pass.
        attempts: what became of its requests, in any order.
    """
    by_number = tuple(sorted(attempts, key=lambda attempt: attempt.number))
    outcomes = [attempt.outcome for attempt in by_number]
    passed = outcomes.count("passed")
    low, high = wilson_interval(passed, passed + outcomes.count("failed"))
    return RepeatsResult(
        planned=required.planned,
        pass_rate=required.pass_rate,
        needed=required.count,
        passed=passed,
        interval=(round(low, 4), round(high, 4)),
        attempts=by_number,
    )


def describe_rate(passed: int, answers: int, interval: tuple[float, float]) -> str:
    """A rate with its interval: `80 % (95 % interval 38 % to 96 %)`; `none known` without answers.

    Args:
        passed: how many answers pass.
        answers: of how many.
        interval: the confidence interval, from 0 to 1.
    """
    if not answers:
        return "none known"
    low, high = (f"{end * 100:.0f} %" for end in interval)
    return f"{passed / answers * 100:.0f} % (95 % interval {low} to {high})"


def describe_passes(result: RepeatsResult) -> str:
    """Say how many answers of a case pass: `4/5 answers passed: 80 % (95 % interval 38 % to 96 %)`."""
    rate = describe_rate(result.passed, result.answers, result.interval)
    return f"{result.passed}/{result.answers} answers passed: {rate}"


def summary_of_rates(rates: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """The lines of a run's summary about its repeated cases, the lowest rates first.

    Args:
        rates: how many answers of each case passed, and of how many, by node id; at least one case.
    """
    passed, answers = (sum(counts) for counts in zip(*rates.values(), strict=True))
    nouns = "1 case was" if len(rates) == 1 else f"{len(rates)} cases were"
    mixed = [(counts, node_id) for node_id, counts in rates.items() if counts[0] < counts[1]]
    mixed.sort(key=lambda case: case[0][0] / case[0][1])
    end = "; not all of these:" if mixed else "."
    yield f"{nouns} sent more than once, and {passed}/{answers} answers passed{end}"
    for (passed, answers), node_id in mixed[:_MOST_CASES]:
        yield f"  {passed}/{answers}  {describe_rate(passed, answers, wilson_interval(passed, answers))}  {node_id}"
    if len(mixed) > _MOST_CASES:
        yield f"  and {len(mixed) - _MOST_CASES} more"


def describe_repeats(result: RepeatsResult) -> str:
    """Say how many answers of a case pass, and why the others do not; the first line is a summary.

    Args:
        result: of the case; not all of its answers pass.
    """
    errors = len(result.attempts) - result.answers
    counts = [describe_passes(result)] if result.answers else []
    counts += [f"{errors} could not be obtained or graded"] if errors else []
    not_sent = result.planned - len(result.attempts)
    counts += [f"{not_sent} not sent"] if not_sent else []
    counts.append(f"{result.needed} of {result.planned} must pass")
    return "\n\n".join(["; ".join(counts), *_problems(result)])


def _problems(result: RepeatsResult) -> Iterable[str]:
    """What did not pass; answers with the same problem together."""
    numbers: dict[str, list[str]] = {}
    for attempt in result.attempts:
        if attempt.problem:
            numbers.setdefault(attempt.problem, []).append(str(attempt.number))
    for problem, same in numbers.items():
        *others, last = same
        noun = f"answers {', '.join(others)} and {last}" if others else f"answer {last}"
        yield f"{noun} of {result.planned}: {problem}"
