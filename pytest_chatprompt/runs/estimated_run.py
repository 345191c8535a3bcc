"""The estimated run: what a live run of the collected cases would cost, where `--collect-only` keeps it from running.

`session` registers an `EstimatedRun` as a plugin. Each eval item is set up and captured offline, without comparing and
without a report; the table comes when the run ends. Nothing is sent. `case_runner` notes what a case sends.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.capture.preview import preview
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.live.cost_estimate import ASSUMED_OUTPUT_TOKENS, CostEstimate, estimate_cost
from pytest_chatprompt.options import options_key
from pytest_chatprompt.providers.context import SendContext, use_context
from pytest_chatprompt.reports.terminal import write_line, write_title
from pytest_chatprompt.runs.item import ENDED_EARLY, MASKS_FIXTURE, EvalItem, first_line
from pytest_chatprompt.runs.recordings import recording_place
from pytest_chatprompt.runs.repeat_count import repeat_of
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.wording import dollars

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.capture.sent_request import Exchange
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import Provider
    from pytest_chatprompt.runs.case_checks import CaseChecks

ESTIMATED_RUN: Final = "chatprompt-estimated-run"
_JUDGE: Final = "(judge)"
_HEAD: Final = ("provider", "answers", "input tokens", "output tokens", "cost")


@dataclass(eq=False)
class EstimatedRun:
    """Estimates what a live run would cost.

    Args:
        config: the run's configuration.
        redactor: the secrets of the run.
    """

    config: pytest.Config
    redactor: Redactor
    _estimates: dict[str, list[CostEstimate]] = field(default_factory=lambda: defaultdict(list))
    _problems: Counter[str] = field(default_factory=Counter)
    _replayed: int = 0
    _others: int = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Set up each eval item and estimate it, in place of running nothing."""
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            return None
        items = [item for item in session.items if isinstance(item, EvalItem)]
        others = [item for item in session.items if not isinstance(item, EvalItem)]
        self._others = sum("eval_api" in getattr(item, "fixturenames", ()) for item in others)
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Set an item up, capture what it sends, and report nothing of that."""
        try:
            item.ihook.pytest_runtest_setup(item=item)
            item.ihook.pytest_runtest_call(item=item)
        except ENDED_EARLY:
            # A live run would not send it either.
            pass
        except (Exception, pytest.fail.Exception) as error:
            self._problems[self.redactor.redact(first_line(error))] += 1
        finally:
            item.ihook.pytest_runtest_teardown(item=item, nextitem=nextitem)
        return True

    def add(
        self, request: pytest.FixtureRequest, provider: Provider, provider_request: ProviderRequest, api: EvalAPI
    ) -> None:
        """Estimate the answers to a case; see `estimate_case`."""
        item: EvalItem = request.node
        with use_context(SendContext(is_offline=True, is_priced=False)):
            exchange = preview(provider, provider_request, api)
            if self.config.stash[options_key].replay and _is_recorded(request, provider, exchange):
                self._replayed += 1
                return
        self._estimates[item.provider_name] += [estimate_cost(exchange)] * _repeat(request)

    def add_judge(self, asked: Exchange, votes: int) -> None:
        """Estimate what a judge is asked.

        Args:
            asked: what it is sent, with an empty answer.
            votes: how often it is asked.
        """
        self._estimates[_JUDGE] += [estimate_cost(asked)] * votes

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show a row for each provider, and what the numbers mean."""
        write_title(terminalreporter, "-", "estimated cost of the live run")
        table = [_HEAD, *self._rows()]
        widths = [max(len(row[column]) for row in table) for column in range(len(_HEAD))]
        for name, *numbers in table:
            cells = [
                name.ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)),
            ]
            write_line(terminalreporter, "  ".join(cells).rstrip())
        for note in self._notes():
            write_line(terminalreporter, note)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for provider, estimates in sorted(self._estimates.items()):
            yield _row(provider, estimates)
        yield _row("total", self._all())

    def _all(self) -> list[CostEstimate]:
        return [estimate for estimates in self._estimates.values() for estimate in estimates]

    def _notes(self) -> Iterator[str]:
        yield (
            "Nothing was sent. Input is estimated as one token for four characters, without media; output as all of "
            f"max_output_tokens, or as {ASSUMED_OUTPUT_TOKENS} tokens where a case sets none."
        )
        reasons = Counter(estimate.why_unknown for estimate in self._all() if estimate.why_unknown)
        for reason, count in reasons.items():
            yield f"{_count(count, 'answer')} without a cost: {reason}"
        if _JUDGE in self._estimates:
            yield "What judges are sent is estimated without the answers, and as if nothing of it were recorded."
        if self._replayed:
            yield f"{_count(self._replayed, 'case')} would be replayed, and cost nothing."
        for problem, count in self._problems.items():
            yield f"{_count(count, 'case')} could not be estimated: {problem}"
        if self._others:
            tests = _count(self._others, "test")
            yield f"Not estimated, since only running shows what it sends: {tests} with eval_api."
        budget = self.config.stash[options_key].budget_usd
        total = sum(estimate.cost_usd or 0.0 for estimate in self._all())
        if budget is not None and total > budget:
            yield f"That is more than the budget of {dollars(budget)}."


def estimate_case(
    request: pytest.FixtureRequest,
    provider: Provider,
    provider_request: ProviderRequest,
    api: EvalAPI,
    checks: CaseChecks | None,
) -> None:
    """Let the run add up what a case would cost.

    Args:
        request: the fixture request of its item.
        provider: its provider.
        provider_request: what it asks the provider to send.
        api: its stand-in of the APIs.
        checks: of the case; `None` for none.

    Raises:
        ProviderError, CaptureError: see `capture.provider_capture.capture_offline`.
        ReplayError: its recording is unreadable.
        CheckError: the judge cannot be asked.
    """
    run: EstimatedRun = request.config.pluginmanager.getplugin(ESTIMATED_RUN)
    judging = None if checks is None else checks.show_judging(request, provider_request, api.redactor)
    run.add(request, provider, provider_request, api)
    if judging is not None:
        # Most runs have no judge.
        from pytest_chatprompt.live.judging import judge_exchange  # noqa: PLC0415

        for question, shown in zip(judging.questions, judging.previews, strict=True):
            # With the conversation: it is most of what a judge is sent.
            asked = judge_exchange(judging.judge, question.request(""), shown)
            run.add_judge(asked, question.votes * _repeat(request))


def _repeat(request: pytest.FixtureRequest) -> int:
    return repeat_of(request.config, request.getfixturevalue("eval_case"))


def _is_recorded(request: pytest.FixtureRequest, provider: Provider, exchange: Exchange) -> bool:
    """Whether a replayed run would send nothing for a case."""
    item: EvalItem = request.node
    masks = Masks.from_mapping(request.getfixturevalue(MASKS_FIXTURE))
    place = recording_place(item, item.snapshot_folder, item.snapshot_stem, masks)
    recording = place.open(getattr(provider, "base_url", None))
    if recording is None or place.recorded_response(recording, exchange) is not None:
        return recording is not None
    try:
        for sent in exchange.sent:
            recording.take(sent)
    except ReplayError:
        return False
    return bool(exchange.sent)


def _row(name: str, estimates: list[CostEstimate]) -> tuple[str, ...]:
    known = [estimate.cost_usd for estimate in estimates if estimate.cost_usd is not None]
    unknown = len(estimates) - len(known)
    cost = dollars(sum(known)) if known or not unknown else ""
    more = f"{unknown} unknown" if unknown else ""
    return (
        name,
        str(len(estimates)),
        str(sum(estimate.input_tokens for estimate in estimates)),
        str(sum(estimate.output_tokens for estimate in estimates)),
        " + ".join(filter(None, (cost, more))),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
