"""What a run with `--chatprompt-ab` found: the rates of both versions, their difference, and the verdict, in words."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Final

from pytest_chatprompt.grading.rates import Pairs, Verdict, mean_interval, shared_words, wilson_interval
from pytest_chatprompt.options import AB_KINDS
from pytest_chatprompt.results.records import (
    AbResult,
    CaseResult,
    ResponseResult,
    RunResults,
    VersionResult,
    VersionsResult,
)
from pytest_chatprompt.wording import count, dollars, grouped, listed

MOST_CASES: Final = 20
# The name of the version that is sent now.
NOW: Final = "now"
_POINT: Final = 0.01
FROM_NEVER: Final = "from never to always"
TO_NEVER: Final = "from always to never"


@dataclass(frozen=True)
class Compared:
    """The cases of a run that compares two versions.

    Args:
        name: of the other version, as `--chatprompt-ab` has it.
        cases: by node id, in the order of the run.
        is_sequential: whether the answers have decided how many more were asked for.
    """

    name: str
    cases: dict[str, VersionsResult]
    is_sequential: bool

    @classmethod
    def of(cls, results: Iterable[CaseResult], name: str, *, is_sequential: bool) -> Compared:
        """Take what the results of a run have of it."""
        cases = {}
        for each in results:
            if each.versions is not None:
                cases[each.node_id] = each.versions
            elif each.provider is not None and each.error is not None:
                cases[each.node_id] = VersionsResult(left_out=each.error.message)
        return cls(name, cases, is_sequential)

    @property
    def names(self) -> tuple[str, str]:
        """The versions before and after: a revision was before, and another model or provider may come."""
        kinds = tuple(f"{kind}=" for kind in AB_KINDS)
        return (NOW, self.name) if self.name.startswith(kinds) else (self.name, NOW)

    @cached_property
    def graded(self) -> dict[str, VersionsResult]:
        """The cases with pairs of graded answers: those first that turned, then those that differ most."""
        graded = {name: each for name, each in self.cases.items() if each.is_graded and each.pairs.total}
        return dict(sorted(graded.items(), key=lambda entry: (not turned(entry[1]), -abs(entry[1].pairs.difference))))

    @cached_property
    def pairs(self) -> Pairs:
        """How all pairs of graded answers ended."""
        return sum((each.pairs for each in self.graded.values()), Pairs())

    @property
    def verdict(self) -> Verdict | None:
        """What the pairs say; `None` if there are none."""
        return self.pairs.verdict(is_sequential=self.is_sequential) if self.pairs.total else None

    def table(self, most: int | None = MOST_CASES) -> Iterator[tuple[str, str, str]]:
        """The rates of the cases, at most so many, then what the answers took."""
        yield "with 95 % intervals", *self.names
        for node_id, each in list(self.graded.items())[:most]:
            yield f"{node_id}{turned(each) and f' ({turned(each)})'}", _rate(each.before), _rate(each.after)
        if most is not None and len(self.graded) > most:
            yield count(len(self.graded) - most, "more case"), "", ""
        if len(self.graded) > 1:
            before, after = ([getattr(each, name) for each in self.graded.values()] for name in ("before", "after"))
            yield f"all {len(self.graded)} cases", _rate(*before), _rate(*after)
        yield from self._usage()

    def _usage(self) -> Iterator[tuple[str, str, str]]:
        """What the answers of both versions took on average, with its interval, where it is known of both."""
        sides: list[list[ResponseResult]] = []
        for version in ("before", "after"):
            attempts = itertools.chain.from_iterable(getattr(each, version).attempts for each in self.cases.values())
            sides.append([each.response for each in attempts if each.response is not None])
        for name, show in _MEANS.items():
            known = [[value for each in side if (value := getattr(each, name)) is not None] for side in sides]
            if all(known):
                before, after = (_mean(values, show) for values in known)
                yield f"mean {name.replace('_usd', '').replace('_seconds', '').replace('_', ' ')}", before, after

    def preflight(self, most: int | None = MOST_CASES) -> Iterator[str]:
        """What preflight finds in the requests of the other version, and what is changed in them on the way."""
        for name, said in (("findings", "preflight"), ("adjustments", "adjusted")):
            found = ((text, node_id) for node_id, each in self.cases.items() for text in getattr(each, name))
            for text, node_ids in grouped(found).items():
                yield f"{said}: {listed(node_ids, most)}: {text}"

    def notes(self, most: int | None = MOST_CASES) -> Iterator[str]:
        """What was not compared, and why; at most so many cases are named for a reason."""
        reasons = (
            (each.left_out or f"no answer of one version, or of both, was graded{_problem(each)}", node_id)
            for node_id, each in self.cases.items()
            if each.left_out or ((each.is_graded or each.attempts) and not each.pairs.total)
        )
        for reason, node_ids in grouped(reasons).items():
            yield f"not compared: {listed(node_ids, most)}: {reason}"
        same = sum(each.is_same for each in self.cases.values())
        if same:
            yield f"not sent, because nothing changes: {count(same, 'case')}"
        lost = sum(len(each.attempts) - each.pairs.total for each in self.graded.values())
        if lost:
            problem = _problem(*self.graded.values())
            yield f"not counted, because an answer is missing or could not be graded: {count(lost, 'pair')}{problem}"
        yield from self._words()

    def _words(self) -> Iterator[str]:
        """How far the answers of the cases differ that nothing grades."""
        between, within = [], []
        cases = [each for each in self.cases.values() if each.attempts and not each.is_graded]
        for case in cases:
            texts = [
                [each.response.text for each in side if each.response is not None]
                for side in zip(*case.attempts, strict=True)
            ]
            between += list(zip(*texts, strict=False))
            within += [pair for side in texts for pair in itertools.pairwise(side)]
        across, alike = shared_words(between), shared_words(within)
        if across is not None:
            same = "" if alike is None else f", those of one version {_percent(alike)}"
            yield (
                f"{count(len(cases), 'case')} without a check: "
                f"answers of the two versions share {_percent(across)} of their words{same}"
            )

    def sentence(self, show_name: Callable[[str], str] = str) -> str:
        """The verdict, with its numbers."""
        if self.verdict is None:
            if any(each.attempts and not each.is_graded for each in self.cases.values()):
                return "no verdict: no answer was graded"
            if any(each.attempts or each.left_out for each in self.cases.values()):
                return "no verdict: nothing could be compared"
            return f"nothing differs from {show_name(self.name)}, so nothing was sent"
        pairs = self.pairs
        low, high = pairs.shown_interval(is_sequential=self.is_sequential)
        test = "" if self.is_sequential else f", exact paired test p = {pairs.p_value:.2g}"
        numbers = f"{_points(pairs.difference)} points (95 % interval {_points(low)} to {_points(high)}{test})"
        if self.verdict != "no difference found":
            return f"{self.verdict}: {numbers}"
        points = pairs.detectable_points(is_sequential=self.is_sequential)
        shown = "would show none" if points is None else f"would show one of about {points} points"
        return f"{self.verdict}: {numbers}; {count(pairs.total, 'sample')} a side {shown}"

    def result(self) -> AbResult:
        """The record of it."""
        pairs, found = self.pairs, asdict(self.pairs)
        if pairs.total:
            low, high = pairs.shown_interval(is_sequential=self.is_sequential)
            points = pairs.detectable_points(is_sequential=self.is_sequential)
            found |= {
                "difference": round(pairs.difference, 4),
                "interval": (round(low, 4), round(high, 4)),
                "p_value": None if self.is_sequential else pairs.p_value,
                "verdict": self.verdict,
                "detectable": None if points is None else points / 100,
            }
        return AbResult(compared_with=self.name, is_sequential=self.is_sequential, summary=self.sentence(), **found)


def compared_versions(run: RunResults) -> Compared | None:
    """The cases of a run that compares two versions; `None` if it does not."""
    ab = run.ab
    return None if ab is None else Compared.of(run.results, ab.compared_with, is_sequential=ab.is_sequential)


def turned(case: VersionsResult) -> str:
    """Whether all answers pass of one version, and none of the other."""
    pairs = case.pairs
    if 0 < pairs.only_after == pairs.total:
        return FROM_NEVER
    return TO_NEVER if 0 < pairs.only_before == pairs.total else ""


def _problem(*cases: VersionsResult) -> str:
    """What to say of the first answer that is missing, or could not be graded; `""` if there is none."""
    attempts = (attempt for each in cases for version in (each.before, each.after) for attempt in version.attempts)
    return next((f": {each.problem}".partition("\n")[0] for each in attempts if each.outcome == "error"), "")


def _rate(*versions: VersionResult) -> str:
    """How many answers pass, with the interval of their rate."""
    passed, answers = sum(each.passed for each in versions), sum(each.answers for each in versions)
    low, high = (f"{end * 100:.0f}" for end in wilson_interval(passed, answers))
    return f"{passed}/{answers} ({low} to {high} %)"


def _mean(values: list[float], show: Callable[[float], str]) -> str:
    mean, interval = mean_interval(values)
    return show(mean) if interval is None else f"{show(mean)} ({show(max(interval[0], 0))} to {show(interval[1])})"


_MEANS: Final[dict[str, Callable[[float], str]]] = {
    "input_tokens": "{:.0f}".format,
    "output_tokens": "{:.0f}".format,
    "cost_usd": dollars,
    "latency_seconds": "{:.2f} s".format,
}


def _percent(rate: float) -> str:
    return f"{rate * 100:.0f} %"


def _points(rate: float) -> str:
    text = f"{rate * 100:+.{0 if abs(rate) >= _POINT else 1}f}"
    return text if text.strip("+-0.") else "0"
