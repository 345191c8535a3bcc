"""Usage: what tests used of tokens, time, money and recorded replies, and the table of it at the end of a run.

The numbers of a test are user properties of its report, so that JUnit's XML and the controller of pytest-xdist get
them.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.errors import ProviderError
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage, read_usage
from pytest_chatprompt.reports.answers import known_sum
from pytest_chatprompt.reports.terminal import table_lines, write_section
from pytest_chatprompt.runs.item import note_use, notes_of
from pytest_chatprompt.wording import count, dollars, grouped, listed

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording
    from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange
    from pytest_chatprompt.grading.judge import JudgeVote


# The properties of a repeated case in its report, without the prefix that all of them have.
RATE_PROPERTY: Final = "passed_answers"
INTERVAL_PROPERTY: Final = "pass_interval"
PREFIX: Final = "chatprompt_"
UNKNOWN: Final = "unknown"
# What the summary says of the run besides.
run_notes_key: Final[pytest.StashKey[list[str]]] = pytest.StashKey()
# How many recorded replies that no request asked for the run has removed.
pruned_key: Final[pytest.StashKey[int]] = pytest.StashKey()
_COST: Final = "cost_usd"
_JUDGE: Final = "judge_"


def add_usage(
    item: pytest.Item, provider_name: str, *outcomes: ProviderResponse | ProviderError | None, requests: int = 0
) -> None:
    """Put the usage of a test into its user properties; of one with several answers the numbers are lists.

    `requests` is how many it took, where that is not one for each answer or error in place of one.
    """
    retries = sum(outcome.retries for outcome in outcomes if outcome is not None)
    properties: dict[str, Any] = {"provider": provider_name, "retries": retries}
    if requests:
        properties["requests"] = requests
    if len(outcomes) > 1:
        properties |= _numbers(outcomes)
    elif isinstance(outcomes[0], ProviderResponse):
        properties |= {key: number for key, (number,) in _numbers(outcomes).items()}
    reason = notes_of(item).not_sent_ahead
    if reason is not None:
        properties["not_sent_ahead"] = reason
    set_properties(item, properties)


def _numbers(outcomes: Sequence[ProviderResponse | ProviderError | None]) -> dict[str, list[Any]]:
    """The tokens, latencies and costs of responses; without costs if none is known."""
    # In place of an error a response of which nothing is known.
    responses = [each if isinstance(each, ProviderResponse) else ProviderResponse(text="") for each in outcomes]
    latencies = [response.latency_seconds for response in responses]
    numbers: dict[str, list[Any]] = {
        "input_tokens": [response.usage.input_tokens for response in responses],
        "output_tokens": [response.usage.output_tokens for response in responses],
        "latency_seconds": [None if seconds is None else round(seconds, 3) for seconds in latencies],
        _COST: [response.cost_usd for response in responses],
    }
    if not any(map(_is_number, numbers[_COST])):
        del numbers[_COST]
    return {key: [UNKNOWN if number is None else number for number in known] for key, known in numbers.items()}


def add_judge_usage(item: pytest.Item, votes: Iterable[JudgeVote]) -> None:
    """Put into the user properties of a case what its judge used, but for what was replayed."""
    sent = [outcome for vote in votes if not vote.is_replayed and (outcome := vote.response or vote.failure)]
    if not sent:
        return
    retries = sum(outcome.retries for outcome in sent)
    properties: dict[str, Any] = {"judge_requests": len(sent), "judge_retries": retries}
    for key, values in _numbers(sent).items():
        told = values if key == "latency_seconds" or UNKNOWN in values else [sum(values)]
        properties[f"{_JUDGE}{key}"] = told if len(told) > 1 else told[0]
    set_properties(item, properties)


def add_replayed(item: pytest.Item, path: Path, *recordings: OpenRecording, unused: int = 0) -> None:
    """Put into the user properties of a test how many replies were replayed, and what that saved.

    `unused` replies were recorded for other answers, which nobody asked for.
    """
    replayed = [exchange for recording in recordings for exchange in recording.replayed]
    note_use(item, "replayed", str(path), [[exchange.repeat, exchange.request.sha256] for exchange in replayed])
    usages = [_usage(exchange) for exchange in replayed]
    properties = {
        "replayed": len(usages),
        "sent": sum(recording.sent_count for recording in recordings),
        "unused_recorded": unused + sum(len(recording.unused()) for recording in recordings),
        "unanswered": sum(recording.unanswered_count for recording in recordings),
        "saved_input_tokens": sum(usage.input_tokens or 0 for usage in usages),
        "saved_output_tokens": sum(usage.output_tokens or 0 for usage in usages),
    }
    set_properties(item, properties)


def _usage(exchange: RecordedExchange) -> TokenUsage:
    if exchange.response is not None:
        return exchange.response.usage
    return TokenUsage() if exchange.reply is None else read_usage(exchange.reply.content)


def set_properties(item: pytest.Item, properties: Mapping[str, Any]) -> None:
    """Set user properties; a test that is run again has the numbers of its last run."""
    # Reports keep the names, which are the same for all tests.
    named = {sys.intern(f"{PREFIX}{name}"): value for name, value in properties.items()}
    kept = [entry for entry in item.user_properties if entry[0] not in named]
    item.user_properties[:] = [*kept, *named.items()]


_SHOWN_TESTS: Final = 3
# What tests of your own code sent, in a row of its own.
OWN_CODE: Final = "own code"
# What the judges of all cases used, in a row of its own.
JUDGE_ROW: Final = "(judge)"


@dataclass(eq=False)
class UsageSummary:
    """Adds up the usage of all tests of a run."""

    is_live: bool
    replays: bool
    _tests: list[dict[str, Any]] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Read the usage of a test from its report."""
        usage = {
            # All tests have the same names, and they are kept to the end of the run.
            sys.intern(name.removeprefix(PREFIX)): value
            for name, value in report.user_properties
            if name.startswith(PREFIX)
        }
        if usage and report.when == "teardown":
            self._tests.append({**usage, "nodeid": report.nodeid})

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show a row for each provider."""
        head, *rows = self._table()
        lines = [*(table_lines([head, *rows]) if rows else ()), *self._notes(terminalreporter.config)]
        if lines:
            write_section(terminalreporter, "usage of the live run" if self.is_live else "recorded replies", lines)

    def _notes(self, config: pytest.Config) -> Iterator[str]:
        """What to know about the run beside the numbers, a line each."""
        yield from config.stash.get(run_notes_key, ())
        told = {(test["not_sent_ahead"], test["nodeid"]): None for test in self._tests if "not_sent_ahead" in test}
        for reason, node_ids in sorted(grouped(told).items(), key=lambda entry: -len(entry[1])):
            # One case alone does not make a run slow.
            if len(node_ids) > 1:
                yield f"{len(node_ids)} cases were sent one by one: {reason}"
        rates = {test["nodeid"]: test[RATE_PROPERTY].split("/") for test in self._tests if RATE_PROPERTY in test}
        if rates:
            # Most runs have none.
            from pytest_chatprompt.results.wording import summary_of_rates  # noqa: PLC0415

            yield from summary_of_rates({nodeid: (int(passed), int(of)) for nodeid, (passed, of) in rates.items()})
        replayed, sent, unused = map(self._total, ("replayed", "sent", "unused_recorded"))
        if replayed or (sent and self.replays):
            saved = f"{self._total('saved_input_tokens')} input and {self._total('saved_output_tokens')} output tokens"
            also = f", {count(sent, 'request was', 'requests were')} sent" if self.is_live else ""
            yield f"{count(replayed, 'reply was', 'replies were')} replayed, which saved {saved}{also}."
        if unused > config.stash.get(pruned_key, 0):
            yield (
                f"{count(unused, 'recorded reply', 'recorded replies')} that no request asked for, in "
                f"{self._some('unused_recorded')}; to remove what a run of all tests does not need: "
                "pytest --chatprompt-replay --chatprompt-remove-unused"
            )
        unanswered, late = map(self._total, ("unanswered", "late_difference"))
        if unanswered:
            requests = f"{count(unanswered, 'request')}, in {self._some('unanswered')}"
            yield f"Not recorded, because no complete reply of at most 64 MiB came: {requests}."
        if late:
            yield (
                f"After the first real reply, {count(late, 'test')} sent something other than the snapshot shows, "
                f"which may hold that reply: {self._some('late_difference')}."
            )

    def _total(self, key: str) -> int:
        return sum(test.get(key, 0) for test in self._tests)

    def _some(self, key: str) -> str:
        """The first few tests that have a number."""
        return listed([test["nodeid"] for test in self._tests if test.get(key)], _SHOWN_TESTS)

    def _table(self) -> Iterator[tuple[str, ...]]:
        """A row for each provider, and one for the judges, below the names of the columns."""
        rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for test in self._tests:
            if "provider" in test:
                rows[test["provider"]].append(test)
            if "judge_requests" in test:
                judge = {name.removeprefix(_JUDGE): value for name, value in test.items() if name.startswith(_JUDGE)}
                rows[JUDGE_ROW].append({"nodeid": test["nodeid"], **judge})
        table = [_row(provider, cases) for provider, cases in sorted(rows.items())]
        # Only where it is not said by the number of cases.
        is_told = any("requests" in test or test.get("judge_requests", 1) > 1 for test in self._tests)
        left_out = set() if is_told else {"requests"}
        if not any(_COST in case for cases in rows.values() for case in cases):
            left_out.add("cost")
        heads = tuple(head for head in _row("", []) if head not in left_out)
        yield heads
        yield from (tuple(row[head] for head in heads) for row in table)


def _row(provider: str, cases: list[Mapping[str, Any]]) -> dict[str, str]:
    """What the cases of a provider used, by the heads of the table."""
    latencies = [value for value in _values(cases, "latency_seconds") if _is_number(value)]
    # A case has no list of costs if none is known; each of its answers counts as one of unknown cost.
    costs = [{_COST: [None] * len(_values([case], "input_tokens")), **case} for case in cases]
    return {
        "provider": provider,
        # A case that ran twice is one case, but its tokens count twice.
        "cases": str(len({case["nodeid"] for case in cases})),
        "requests": str(sum(case.get("requests", len(_values([case], "input_tokens"))) for case in cases)),
        "input tokens": known_sum(_values(cases, "input_tokens"), str),
        "output tokens": known_sum(_values(cases, "output_tokens"), str),
        "retries": str(sum(case["retries"] for case in cases)),
        "median latency": f"{statistics.median(latencies):.2f} s" if latencies else UNKNOWN,
        "slowest latency": f"{max(latencies):.2f} s" if latencies else UNKNOWN,
        "cost": known_sum(_values(costs, _COST), dollars),
    }


def _values(cases: Iterable[Mapping[str, Any]], key: str) -> list[Any]:
    """The numbers of all answers; a case that was sent several times has a list of them."""
    values = (case.get(key) for case in cases)
    return list(itertools.chain.from_iterable(value if isinstance(value, list) else [value] for value in values))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
