"""Records: what each test did, and the whole run, for every report to read.

They are JSON on their way from the workers of pytest-xdist, and in a report. `make schema` makes `report.schema.json`
of them and of their docstrings, for programs that read reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from pytest_chatprompt.apis.conversation import PromptPart
from pytest_chatprompt.cases.case import EvalCase, EvalCheck
from pytest_chatprompt.grading.check import NEGATION, describe_check, verdict_sentence
from pytest_chatprompt.grading.rates import Pairs, Verdict, wilson_interval
from pytest_chatprompt.providers.response import Amount, Count
from pytest_chatprompt.snapshots.changes import Difference
from pytest_chatprompt.text.json_data import thaw

if TYPE_CHECKING:
    from pytest_chatprompt.grading.grade import GradedCheck


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ChangeCost(_Record):
    """How a change alters the size of a request and its cacheable prefix.

    Args:
        characters: how many more are sent than the snapshot shows; fewer if negative. Media do not count.
        tokens: an estimate of the same in tokens, by the characters.
        parts: the characters by the part of the request that got longer, or shorter, such as `tools`.
        prefix_break: the first place at which the request does not begin as the snapshot does, such as
            `request.tools[3].description`: from there on vendors compute the prompt anew. `None` if one
            of the two begins with all of the other.
        prefix_characters: how many characters stand before that place and are as before; 0 where there is none.
    """

    characters: int = 0
    tokens: int = 0
    parts: dict[str, int] = {}
    prefix_break: str | None = None
    prefix_characters: int = 0


class CheckResult(_Record):
    """What one check said.

    Args:
        type: its type, without `not_`.
        is_negated: whether `not_` stands before its type.
        of: what it looked at.
        value: its `value`, as its author wrote it, variables filled in; `None` if it has none.
        arguments: its other keys, but `type` and `of`.
        passed: whether it passes; `None` if it could not be graded.
        reason: a fact that completes "the answer ...", or "the request ..."; if it could not be graded, why not.
        path: the eval file, relative to pytest's root folder.
        line: where it stands there, 1-based; 0 if it was not looked up, as for a check that passes in a run
            without reports.
        column: likewise.
    """

    type: str
    is_negated: bool = False
    of: Literal["answer", "request"] = "answer"
    value: Any = None
    arguments: dict[str, Any] = {}
    passed: bool | None
    reason: str
    path: str = ""
    line: int = 0
    column: int = 0

    @property
    def name(self) -> str:
        """Its type, with `not_` before it where it is negated."""
        return f"{NEGATION}{self.type}" if self.is_negated else self.type

    @property
    def description(self) -> str:
        """The check in a few words: `not_icontains 'as an AI'`."""
        value = {} if self.value is None else {"value": self.value}
        of = {} if self.of == "answer" else {"of": self.of}
        return describe_check(EvalCheck(self.name, {**value, **self.arguments, **of}))

    @property
    def place(self) -> str:
        """Where it stands: `evals/a.eval.yaml:4:9`; `""` if it was not looked up."""
        return f"{self.path}:{self.line}:{self.column}" if self.line else ""

    @property
    def sentence(self) -> str:
        """What it said: `failed: icontains '14 days': the answer does not contain it`."""
        return verdict_sentence(self.passed, self.description, self.of, self.reason)


def check_result(graded: GradedCheck, case: EvalCase, *, with_place: bool) -> CheckResult:
    """Make the record of a graded check. Its place is looked up where it does not pass, or `with_place`."""
    check, verdict = graded.check, graded.verdict
    arguments = {key: thaw(value) for key, value in check.written.arguments.items() if key != "of"}
    position: dict[str, Any] = {}
    if with_place or not graded.passed:
        from pytest_chatprompt.grading.table import find_node  # noqa: PLC0415

        line, column = find_node(check.written, case).position
        position = {"path": case.origin.shown_path, "line": line, "column": column}
    return CheckResult(
        type=check.written.type.replace("-", "_").removeprefix(NEGATION),
        is_negated=check.is_negated,
        of=check.of,
        value=arguments.pop("value", None),
        arguments=arguments,
        passed=None if verdict is None else verdict.passed,
        reason=graded.error if verdict is None else verdict.reason,
        **position,
    )


Outcome = Literal["passed", "failed", "error", "skipped"]


class SnapshotResult(_Record):
    """How a comparison with a snapshot ended.

    Args:
        path: its file, relative to pytest's root folder.
        state: whether it shows what is sent, differs from it, or does not exist.
        difference: what changed, where it differs.
        cost: what that costs; `None` where it does not differ, or its file cannot be read.
        stored_sha256: of its data; `None` if there is none.
        sent_sha256: of the data of what is sent; `None` where it is the same.
        is_cause: whether the test failed for this, and for nothing else.
        renamed_from: the case whose snapshot shows what is sent, and that is gone; `None` for none.
        stored: its data; kept only if a report asks for it.
        sent: the data of what is sent, with its requests; kept only if a report asks for it.
    """

    path: str
    state: Literal["same", "different", "new"]
    difference: Difference = Difference((), ())
    cost: ChangeCost | None = None
    stored_sha256: str | None = None
    sent_sha256: str | None = None
    is_cause: bool = False
    renamed_from: str | None = None
    stored: Any = None
    sent: Any = None


class ChangeResult(_Record):
    """A distinct change of a run: equal lines, wherever in the requests they stand.

    Args:
        id: what `--chatprompt-accept` takes, the same in every run that does not have another change like it.
        removed: the lines that were removed.
        added: those that were added.
        moved: those that only changed their place.
        places: how many tests have it in each place, by the path in the data.
        node_ids: of the tests that have it.
    """

    id: str
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    places: dict[str, int]
    node_ids: tuple[str, ...]


class ResponseResult(_Record):
    """The answer that a test got in a live or replayed run.

    Args:
        text: of the answer.
        tool_calls: in the shape of OpenAI's chat completions.
        finish_reason: in the API's words.
        input_tokens: `None` where the API does not say.
        output_tokens: likewise.
        cache_read_tokens: how many of the input were read from the vendor's cache; `None` where the API does not say.
        reasoning_tokens: how many of the output were spent on thinking; likewise.
        cost_usd: what the answer costs, in US dollars; `None` where it is not known. A replayed answer has what its
            tokens cost, although this run pays nothing for it.
        latency_seconds: `None` where it is not known.
        retries: how often the request was sent again.
        requests: how many requests to models it took, those that failed included; an app makes several.
        is_replayed: whether it was recorded earlier.
    """

    text: str
    tool_calls: tuple[Any, ...] = ()
    finish_reason: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    cost_usd: Amount | None = None
    latency_seconds: Amount | None = None
    retries: Count = 0
    requests: Count = 1
    is_replayed: bool = False


class AttemptResult(_Record):
    """One of the answers of a case that is sent several times.

    Args:
        number: from 1; its recording has the same.
        outcome: whether the answer passes; `error` where it could not be obtained or graded.
        response: the answer; `None` if there is none.
        checks: what the checks said about it.
        judge: what the judge replied about it, each of its votes, in the order of the checks.
        problem: why it does not pass, in several lines; `""` if it does.
    """

    number: int
    outcome: Literal["passed", "failed", "error"]
    response: ResponseResult | None = None
    checks: tuple[CheckResult, ...] = ()
    judge: tuple[ResponseResult, ...] = ()
    problem: str = ""


class RepeatsResult(_Record):
    """The answers of a case that is sent several times.

    Args:
        planned: how often it was to be sent; as soon as the outcome is certain, nothing more is sent.
        pass_rate: the share of answers that have to pass.
        needed: how many answers that is.
        passed: how many answers pass.
        interval: the 95 % confidence interval of the share of answers that pass, by Wilson, from 0 to 1.
        attempts: what became of each request, by number.
    """

    planned: int
    pass_rate: float
    needed: int
    passed: int
    interval: tuple[float, float]
    attempts: tuple[AttemptResult, ...]

    @property
    def answers(self) -> int:
        """How many answers arrived and were graded."""
        return sum(attempt.outcome != "error" for attempt in self.attempts)


class VersionResult(_Record):
    """The answers to one version of a case's request, in a run with `--chatprompt-ab`.

    Args:
        passed: how many answers pass.
        answers: how many arrived and were graded.
        interval: the 95 % confidence interval of the share of answers that pass, by Wilson, from 0 to 1.
        attempts: what became of each request, by number.
    """

    passed: int
    answers: int
    interval: tuple[float, float]
    attempts: tuple[AttemptResult, ...]

    @classmethod
    def of(cls, attempts: Iterable[AttemptResult]) -> Self:
        """Count what became of some requests."""
        by_number = tuple(sorted(attempts, key=lambda attempt: attempt.number))
        outcomes = [attempt.outcome for attempt in by_number]
        passed, answers = outcomes.count("passed"), len(outcomes) - outcomes.count("error")
        low, high = wilson_interval(passed, answers)
        return cls(passed=passed, answers=answers, interval=(round(low, 4), round(high, 4)), attempts=by_number)


_NOT_SENT = VersionResult.of(())


class VersionsResult(_Record):
    """Both versions of a case's request, in a run with `--chatprompt-ab`.

    Args:
        left_out: why they were not sent; `""` if they were.
        is_same: whether the request has not changed, so that nothing was sent.
        is_graded: whether something decides which answers pass: a check, or the hook of the project.
        findings: what preflight finds in the request to another model or provider.
        adjustments: what the conversion and the provider change in it on the way.
        before: the answers to the request as it was, or as it is, if it is compared with a model or provider.
        after: the answers to the other version; those with the same number are a pair.
    """

    left_out: str = ""
    is_same: bool = False
    is_graded: bool = False
    findings: tuple[str, ...] = ()
    adjustments: tuple[str, ...] = ()
    before: VersionResult = _NOT_SENT
    after: VersionResult = _NOT_SENT

    @property
    def attempts(self) -> list[tuple[AttemptResult, AttemptResult]]:
        """The pairs of requests that have the same number, before and after."""
        after = {attempt.number: attempt for attempt in self.after.attempts}
        return [(each, after[each.number]) for each in self.before.attempts if each.number in after]

    @property
    def pairs(self) -> Pairs:
        """How the pairs of answers ended."""
        return Pairs.of((before.outcome, after.outcome) for before, after in self.attempts)


class ErrorResult(_Record):
    """Why a test failed.

    Args:
        message: in one line.
        path: the file that it is about, relative to pytest's root folder; `""` if it is about none.
        line: 1-based; 0 if it is about none.
    """

    message: str
    path: str = ""
    line: int = 0


class CaseResult(_Record):
    """What one test did.

    Args:
        node_id: pytest's.
        path: of the eval file or the module, relative to pytest's root folder.
        line: of the case or the test, 1-based.
        case_id: the id of the case; `None` for an ordinary test.
        provider: the name by which its provider was asked for; `None` for an ordinary test.
        outcome: as pytest counts it; `error` where not the test itself failed.
        requests: what an ordinary test sent, as in its snapshot; kept only if a report asks for it.
        parts: what fills the window of the model in each request, the longest part first; likewise.
        snapshot: what it compared with; `None` if it did not come to that.
        further: of an ordinary test that compares with several snapshots, the others that differ.
        findings: what preflight found.
        adjustments: what the conversion and the provider changed on the way.
        response: the answer; `None` offline. Of a case that is sent several times, the first one; of an ordinary test
            what models answered to it, taken together.
        answers: what models answered to an ordinary test, one by one in the order of its requests; empty for cases.
        repeats: all answers of a case that is sent several times; `None` for other tests.
        versions: the answers to both versions of its request; `None` unless the run compares two.
        judge: what the judge replied about the answer, each of its votes, in the order of the checks.
        checks: what its checks said, in the order in which they were graded; empty if it did not come to that.
        error: why it failed; `None` if it did not.
    """

    node_id: str
    path: str
    line: int
    case_id: str | None = None
    provider: str | None = None
    outcome: Outcome
    requests: tuple[Any, ...] = ()
    parts: tuple[tuple[PromptPart, ...], ...] = ()
    snapshot: SnapshotResult | None = None
    further: tuple[SnapshotResult, ...] = ()
    findings: tuple[str, ...] = ()
    adjustments: tuple[str, ...] = ()
    response: ResponseResult | None = None
    answers: tuple[ResponseResult, ...] = ()
    repeats: RepeatsResult | None = None
    versions: VersionsResult | None = None
    judge: tuple[ResponseResult, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    error: ErrorResult | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What it is the result of: its test, and the snapshot that it compared with."""
        return self.node_id, "" if self.snapshot is None else self.snapshot.path

    @property
    def by_snapshot(self) -> list[CaseResult]:
        """The result with each of its snapshots alone."""
        alone = self.model_copy(update={"further": ()}) if self.further else self
        return [alone, *(alone.model_copy(update={"snapshot": each}) for each in self.further)]

    def join(self, other: CaseResult) -> CaseResult:
        """The result with what differs in another part of its test, such as a subtest."""
        found = [each.snapshot for each in (*self.by_snapshot, *other.by_snapshot) if each.differs] or [self.snapshot]
        return self.model_copy(update={"snapshot": found[0], "further": tuple(found[1:])})

    @property
    def differs(self) -> bool:
        """Whether its snapshot shows something else than what is sent, or does not exist."""
        return self.snapshot is not None and self.snapshot.state != "same"

    @property
    def difference(self) -> Difference:
        """What changed; empty if nothing did, or nothing was compared."""
        return Difference((), ()) if self.snapshot is None else self.snapshot.difference

    @property
    def sent(self) -> Any:
        """What was sent; `None` if that is not known."""
        known = None if self.snapshot is None else self.snapshot.sent
        return {"requests": list(self.requests)} if not known and self.requests else known

    @property
    def responses(self) -> tuple[ResponseResult, ...]:
        """All answers that it got."""
        if self.repeats is not None:
            return tuple(attempt.response for attempt in self.repeats.attempts if attempt.response is not None)
        return () if self.response is None else (self.response,)

    @property
    def all_checks(self) -> tuple[CheckResult, ...]:
        """What its checks said about all answers that it got."""
        attempts = () if self.repeats is None else self.repeats.attempts
        return (*self.checks, *(check for attempt in attempts for check in attempt.checks))

    def as_data(self) -> dict[str, Any]:
        """The result as JSON data, without what is not set."""
        return self.model_dump(mode="json", exclude_defaults=True)


class SnapshotUses(_Record):
    """What a run did not use of the snapshots of one file.

    Args:
        path: of the eval file or the module, relative to pytest's root folder.
        left_out: the tests of the file without which nothing of it can be called unused, by what follows `path::` in
            their node ids: cases that were not selected, or whose provider is not known; tests that did not pass.
        unused: the snapshots and recordings of the file that no selected test uses, relative to the root folder.
    """

    path: str
    left_out: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def merge_uses(uses: Iterable[SnapshotUses]) -> tuple[SnapshotUses, ...]:
    """What several runs together know: a test was left out, and a snapshot is unused, if that holds in each of them.

    A run has no record of a file of which it selected no test. None is left of a file of which every test was selected
    and every snapshot is used.
    """
    by_path: dict[str, SnapshotUses] = {}
    for each in uses:
        known = by_path.get(each.path, each)
        left_out, unused = {*known.left_out} & {*each.left_out}, {*known.unused} & {*each.unused}
        by_path[each.path] = SnapshotUses(
            path=each.path, left_out=tuple(sorted(left_out)), unused=tuple(sorted(unused))
        )
    return tuple(each for _, each in sorted(by_path.items()) if each.left_out or each.unused)


def unused_snapshots(uses: Iterable[SnapshotUses]) -> list[str]:
    """The snapshots and recordings that nothing uses, of the files of which no test was left out; sorted paths."""
    return sorted(path for each in uses if not each.left_out for path in each.unused)


def unsettled_files(uses: Iterable[SnapshotUses]) -> list[SnapshotUses]:
    """The files of which some test was left out, and that have snapshots that no selected test uses."""
    return [each for each in uses if each.left_out and each.unused]


class AbResult(_Record):
    """What a run with `--chatprompt-ab` found, over all pairs of graded answers.

    Args:
        compared_with: the other version, as `--chatprompt-ab` names it.
        is_sequential: whether the answers decided how many more were asked for.
        both: in how many pairs both answers pass.
        only_before: in how many only that to the first version passes: that of the revision, or that of now.
        only_after: in how many only that to the second version passes: that of now, or the other one.
        neither: in how many none passes.
        difference: of the rates, from -1 to 1, above 0 if the second version is better; `None` without pairs.
        interval: its 95 % confidence interval.
        p_value: of the exact paired test; `None` without pairs, and if the run is sequential.
        verdict: what the pairs say; `None` without pairs.
        detectable: which difference so many pairs would show, from 0 to 1; `None` if they show none.
        summary: all that in a sentence.
    """

    compared_with: str
    is_sequential: bool
    both: int
    only_before: int
    only_after: int
    neither: int
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    verdict: Verdict | None = None
    detectable: float | None = None
    summary: str


VERSION: Literal[1] = 1


class RunResults(_Record):
    """What all tests of a run did.

    Args:
        version: of this format.
        command: the arguments of the run, as the user typed them after `pytest`.
        shards: the same of each run that it was merged from, where these differ; then `command` has only the options
            that all of them share. Empty for a run of its own.
        folder: where pytest was started, relative to pytest's root folder; `.` for that folder itself.
        is_live: whether requests went to the real APIs.
        against: the git revision whose snapshots were compared with; `None` for the files on disk.
        ab: what a run found that compares two versions; `None` for other runs.
        changes: in what all of them differ, those of the most tests first; only a report has them.
        results: of the tests of this plugin, in the order in which they ended.
        snapshots: what the tests did not use of the snapshots of their files; a file of which all tests were selected
            and all snapshots are used has no record. Empty if the run cannot tell: it ended early, or compared nothing.
    """

    version: Literal[1] = VERSION
    command: tuple[str, ...] = ()
    shards: tuple[tuple[str, ...], ...] = ()
    folder: str = "."
    is_live: bool = False
    against: str | None = None
    ab: AbResult | None = None
    changes: tuple[ChangeResult, ...] = ()
    results: tuple[CaseResult, ...] = ()
    snapshots: tuple[SnapshotUses, ...] = ()

    @property
    def differing(self) -> list[CaseResult]:
        """Those of the tests that fail, or compare two versions, and whose snapshots differ."""
        told = [each for each in self.results if each.outcome in ("failed", "error") or each.versions is not None]
        return [result for result in told if result.differs]

    def as_data(self) -> dict[str, Any]:
        """The run as JSON data, with its version first; a result without what is not set."""
        run = self.model_dump(mode="json", exclude={"results"})
        return {**run, "results": [result.as_data() for result in self.results]}
