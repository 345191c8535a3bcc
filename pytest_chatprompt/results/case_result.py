"""`CaseResult`: what one test did, for every report to read.

Data of a test comes in; JSON goes out with its report, and is read back. Pure; `items.case_results` makes results,
`reports` read them.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from pytest_chatprompt.providers.response import Amount, Count
from pytest_chatprompt.results.change_cost import ChangeCost
from pytest_chatprompt.results.check_result import CheckResult
from pytest_chatprompt.snapshots.difference import Difference

Outcome = Literal["passed", "failed", "error", "skipped"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SnapshotResult(_Record):
    """How a comparison with a snapshot ended.

    Args:
        path: its file, relative to pytest's root folder.
        state: whether it shows what is sent, differs from it, or does not exist.
        difference: what changed, where it differs.
        cost: what that costs; `None` where it does not differ, or its file cannot be read.
        stored_sha256: of its data; `None` if there is none.
        sent_sha256: of the data of what is sent; `None` where it is the same.
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
    renamed_from: str | None = None
    stored: Any = None
    sent: Any = None


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
        snapshot: what it compared with; `None` if it did not come to that.
        findings: what preflight found.
        adjustments: what the conversion and the provider changed on the way.
        response: the answer; `None` offline. Of a case that is sent several times, the first one.
        repeats: all answers of a case that is sent several times; `None` for other tests.
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
    snapshot: SnapshotResult | None = None
    findings: tuple[str, ...] = ()
    adjustments: tuple[str, ...] = ()
    response: ResponseResult | None = None
    repeats: RepeatsResult | None = None
    judge: tuple[ResponseResult, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    error: ErrorResult | None = None

    @property
    def difference(self) -> Difference:
        """What changed; empty if nothing did, or nothing was compared."""
        return Difference((), ()) if self.snapshot is None else self.snapshot.difference

    @property
    def cost(self) -> ChangeCost | None:
        """What its changes cost; `None` if nothing changed, or it is not known."""
        return None if self.snapshot is None else self.snapshot.cost

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

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Read what `as_data` gave."""
        return cls.model_validate(data)
