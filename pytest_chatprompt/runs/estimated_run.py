"""The estimated run: what a live run of the collected cases would cost, where `--collect-only` keeps it from running.

Each eval item is set up and captured as in a live run, without comparing and without a report. Nothing is sent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pytest

from pytest_chatprompt.capture.prompt_size import count_characters, estimate_tokens
from pytest_chatprompt.capture.recording.model_answers import summed
from pytest_chatprompt.capture.recording.open_recording import billing_of_sent
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.live.answers import LiveCase
from pytest_chatprompt.options import options_key
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.providers.response import TokenUsage
from pytest_chatprompt.reports.answers import known_sum
from pytest_chatprompt.reports.terminal import table_lines, write_section
from pytest_chatprompt.runs.item import ENDED_EARLY, EvalItem, first_line
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.runs.usage_summary import JUDGE_ROW
from pytest_chatprompt.wording import count, dollars

ESTIMATED_RUN: Final = "chatprompt-estimated-run"
_HEAD: Final = ("provider", "answers", "input tokens", "output tokens", "cost")
# Where neither the case nor its provider limits the answer.
ASSUMED_OUTPUT_TOKENS: Final = 1_000
# Where the APIs have `max_output_tokens`, in snake or camel case, and in which objects of a body.
_LIMITS: Final = ("maxcompletiontokens", "maxoutputtokens", "maxtokens", "numpredict")
_CONTAINERS: Final = ("generationConfig", "inferenceConfig", "options")


@dataclass(eq=False)
class EstimatedRun:
    """Estimates what a live run would cost."""

    config: pytest.Config
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
            self._problems[SharedByRun.of(self.config).redactor.redact(first_line(error))] += 1
        finally:
            item.ihook.pytest_runtest_teardown(item=item, nextitem=nextitem)
        return True

    def add(self, item: EvalItem, case: LiveCase) -> None:
        """Estimate the answers to a case, and what its judge is asked."""
        recorded = case.recorded_numbers()
        self._replayed += len(recorded) == len(case.numbers)
        for first, version in enumerate(case.versions):
            missing = [number for number in case.numbers[first :: len(case.versions)] if number not in recorded]
            if missing:
                other = self.config.stash[options_key].ab_provider if first else ""
                self._estimates[other or item.provider_name] += [estimate_cost(version.exchange)] * len(missing)
        if case.judging is None:
            return
        # Most runs have no judge.
        from pytest_chatprompt.live.judging import judge_exchange  # noqa: PLC0415

        for question, shown in zip(case.judging.questions, case.judging.previews, strict=True):
            # With the conversation: it is most of what a judge is sent.
            asked = judge_exchange(case.judging.judge, question.request(""), shown)
            self._estimates[JUDGE_ROW] += [estimate_cost(asked)] * (question.votes * len(case.numbers))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show a row for each provider, and what the numbers mean."""
        rows = [_row(provider, estimates) for provider, estimates in sorted(self._estimates.items())]
        lines = (*table_lines([_HEAD, *rows, _row("total", self._all())]), *self._notes())
        write_section(terminalreporter, "estimated cost of the live run", lines)

    def _all(self) -> list[CostEstimate]:
        return [estimate for estimates in self._estimates.values() for estimate in estimates]

    def _notes(self) -> Iterator[str]:
        yield (
            "Nothing was sent. Input is estimated as one token for four characters, without media; output as all of "
            f"max_output_tokens, or as {ASSUMED_OUTPUT_TOKENS} tokens where a case sets none."
        )
        reasons = Counter(estimate.why_unknown for estimate in self._all() if estimate.why_unknown)
        for reason, number in reasons.items():
            yield f"{count(number, 'answer')} without a cost: {reason}"
        if JUDGE_ROW in self._estimates:
            yield "What judges are sent is estimated without the answers, and as if nothing of it were recorded."
        if self._replayed:
            yield f"{count(self._replayed, 'case')} would be replayed, and cost nothing."
        for problem, number in self._problems.items():
            yield f"{count(number, 'case')} could not be estimated: {problem}"
        if self._others:
            tests = count(self._others, "test")
            yield f"Not estimated, since only running shows what it sends: {tests} with eval_api."
        budget = self.config.stash[options_key].budget_usd
        if budget is not None and sum(estimate.cost_usd or 0.0 for estimate in self._all()) > budget:
            yield f"That is more than the budget of {dollars(budget)}."


def _row(name: str, estimates: list[CostEstimate]) -> tuple[str, ...]:
    return (
        name,
        str(len(estimates)),
        str(sum(estimate.input_tokens for estimate in estimates)),
        str(sum(estimate.output_tokens for estimate in estimates)),
        known_sum([estimate.cost_usd for estimate in estimates], dollars),
    )


class CostEstimate(NamedTuple):
    """What the requests of a case cost about.

    Args:
        output_tokens: the most that the answers may have, or `ASSUMED_OUTPUT_TOKENS` for each.
        cost_usd: US dollars; `None` if a price is not known.
        why_unknown: why it is not; `""` if it is known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    why_unknown: str = ""


def estimate_cost(exchange: Exchange) -> CostEstimate:
    """Estimate what an exchange would cost."""
    if not exchange.sent:
        reason = "the requests of agents and plain functions are not known beforehand"
        return CostEstimate(cost_usd=None, why_unknown=reason)
    estimates = [CostEstimate()]
    for sent in exchange.sent:
        billing = billing_of_sent(sent) if exchange.prepared is None else exchange.prepared.billing
        if billing is None:
            # It is to no API of a model.
            continue
        input_tokens, output_tokens = estimate_tokens(count_characters(sent)), _most_output(read_body(sent.body))
        cost = billing.cost_usd(TokenUsage(input_tokens=input_tokens, output_tokens=output_tokens))
        estimates.append(CostEstimate(input_tokens, output_tokens, cost, billing.why_unknown()))
    return CostEstimate(
        sum(estimate.input_tokens for estimate in estimates),
        sum(estimate.output_tokens for estimate in estimates),
        summed([estimate.cost_usd for estimate in estimates]),
        next((estimate.why_unknown for estimate in estimates if estimate.why_unknown), ""),
    )


def _most_output(body: Any) -> int:
    """The most tokens that an answer may have, as the body says."""
    objects = [body, *(body.get(key) for key in _CONTAINERS)] if isinstance(body, Mapping) else []
    settings = [entry for each in objects if isinstance(each, Mapping) for entry in each.items()]
    limits = [value for key, value in settings if key.replace("_", "").lower() in _LIMITS]
    # Ollama takes -1 for no limit.
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), ASSUMED_OUTPUT_TOKENS)
