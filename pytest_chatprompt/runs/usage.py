"""Usage: what tests used of tokens, time, money and recorded replies, and the table of it at the end of a run.

The numbers of a test are user properties of its report, so that JUnit's XML and the controller of pytest-xdist get
them.
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.capture.recording.metering import read_usage
from pytest_chatprompt.errors import ProviderError
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage
from pytest_chatprompt.reports.terminal import table_lines, write_line, write_title
from pytest_chatprompt.runs.item import note_use
from pytest_chatprompt.wording import dollars

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording
    from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange
    from pytest_chatprompt.live.judging import Votes

# The properties of a repeated case in its report, without the prefix that all of them have.
RATE_PROPERTY: Final = "passed_answers"
INTERVAL_PROPERTY: Final = "pass_interval"
PREFIX: Final = "chatprompt_"
UNKNOWN: Final = "unknown"
# Why an item was sent only when it ran; `None` if there is nothing to say.
not_sent_ahead_key: Final[pytest.StashKey[str | None]] = pytest.StashKey()
# What was spent of the budget, as the summary says it.
budget_key: Final[pytest.StashKey[str]] = pytest.StashKey()
# How many answers were recorded for cases that did not run.
early_answers_key: Final[pytest.StashKey[int]] = pytest.StashKey()
# How many recorded replies that no request asked for the run has removed.
pruned_key: Final[pytest.StashKey[int]] = pytest.StashKey()
_COST: Final = "cost_usd"
_NUMBERS: Final = ("input_tokens", "output_tokens", "latency_seconds")


def add_usage(item: pytest.Item, provider_name: str, *outcomes: ProviderResponse | ProviderError) -> None:
    """Put the usage of a case into its user properties.

    Args:
        item: the case's item.
        provider_name: the name by which the provider was asked for.
        outcomes: the response, or the error in place of one; of a case that is sent several times all of them, whose
            numbers are lists then.
    """
    properties: dict[str, Any] = {"provider": provider_name, "retries": sum(outcome.retries for outcome in outcomes)}
    numbers = [_numbers(outcome) for outcome in outcomes]
    if len(numbers) == 1:
        properties |= numbers[0]
    else:
        has_costs = any(_COST in each for each in numbers)
        keys = (*_NUMBERS, _COST) if has_costs else _NUMBERS
        properties |= {key: [each.get(key, UNKNOWN) for each in numbers] for key in keys}
    reason = item.stash.get(not_sent_ahead_key, None)
    if reason is not None:
        properties["not_sent_ahead"] = reason
    set_properties(item, properties)


def _numbers(outcome: ProviderResponse | ProviderError) -> dict[str, Any]:
    """The tokens and the latency of a response; none of an error."""
    if not isinstance(outcome, ProviderResponse):
        return {}
    usage, latency = outcome.usage, outcome.latency_seconds
    known = (usage.input_tokens, usage.output_tokens, None if latency is None else round(latency, 3))
    numbers = {key: UNKNOWN if number is None else number for key, number in zip(_NUMBERS, known, strict=True)}
    return numbers if outcome.cost_usd is None else {**numbers, _COST: outcome.cost_usd}


def add_judge_usage(item: pytest.Item, votes: Votes) -> None:
    """Put into the user properties of a case what its judge used, but for what was replayed."""
    sent = [vote.response for each in votes for vote in each if vote.response is not None and not vote.is_replayed]
    if not sent:
        return
    latencies = [response.latency_seconds for response in sent if response.latency_seconds is not None]
    properties: dict[str, Any] = {
        "judge_requests": len(sent),
        "judge_retries": sum(response.retries for response in sent),
        "judge_latency_seconds": round(statistics.median(latencies), 3) if latencies else UNKNOWN,
    }
    for name in ("input_tokens", "output_tokens"):
        counts = [getattr(response.usage, name) for response in sent]
        properties[f"judge_{name}"] = UNKNOWN if None in counts else sum(counts)
    costs = [response.cost_usd for response in sent if response.cost_usd is not None]
    if len(costs) == len(sent):
        properties[f"judge_{_COST}"] = math.fsum(costs)
    set_properties(item, properties)


def add_replayed(item: pytest.Item, path: Path, *recordings: OpenRecording, unused: int = 0) -> None:
    """Put into the user properties of a test how many replies were replayed, and what that saved.

    Args:
        item: the test.
        path: of its recording.
        recordings: when all was sent: its recording, or that of each answer.
        unused: how many recorded replies were for other answers, which nobody asked for.
    """
    replayed = [exchange for recording in recordings for exchange in recording.replayed]
    note_use(item, "replayed", str(path), [[exchange.repeat, exchange.request.sha256] for exchange in replayed])
    usages = [_usage(exchange) for exchange in replayed]
    set_properties(
        item,
        {
            "replayed": len(usages),
            "sent": sum(recording.sent_count for recording in recordings),
            "unused_recorded": unused + sum(len(recording.unused()) for recording in recordings),
            "unanswered": sum(recording.unanswered_count for recording in recordings),
            "saved_input_tokens": sum(usage.input_tokens or 0 for usage in usages),
            "saved_output_tokens": sum(usage.output_tokens or 0 for usage in usages),
        },
    )


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


_RECORDING_KEYS: Final = ("replayed", "sent", "unused_recorded", "saved_input_tokens", "saved_output_tokens")
_SHOWN_TESTS: Final = 3
_JUDGE: Final = "judge_"
# What the judges of all cases used, in a row of its own.
_JUDGE_ROW: Final = "(judge)"
_HEAD: Final = ("provider", "cases", "input tokens", "output tokens", "retries", "median latency", "slowest latency")
# A last column, if some cost is known.
_COST_HEAD: Final = "cost"


@dataclass(eq=False)
class UsageSummary:
    """Adds up the usage of all tests of a run.

    Args:
        is_live: whether the run sends.
        replays: whether it replays.
    """

    is_live: bool
    replays: bool
    _cases: dict[str, list[Mapping[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    _recorded: list[Mapping[str, Any]] = field(default_factory=list)
    _repeated: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Read the usage of a case from its report."""
        if report.when != "teardown":
            return
        # All cases have the same names, and they are kept to the end of the run.
        usage = {
            sys.intern(name.removeprefix(PREFIX)): value
            for name, value in report.user_properties
            if name.startswith(PREFIX)
        }
        usage["nodeid"] = report.nodeid
        if "provider" in usage:
            self._cases[str(usage["provider"])].append(usage)
        if "judge_requests" in usage:
            judge = {name.removeprefix(_JUDGE): value for name, value in usage.items() if name.startswith(_JUDGE)}
            self._cases[_JUDGE_ROW].append({"nodeid": report.nodeid, **judge})
        if "replayed" in usage or "late_difference" in usage:
            self._recorded.append(usage)
        if RATE_PROPERTY in usage:
            self._repeated[report.nodeid] = usage

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Add the totals to JUnit's XML, which pytest writes when the session finishes."""
        # The plugin has no name, and its fixture for this does not exist in the controller of pytest-xdist.
        plugins = session.config.pluginmanager.get_plugins()
        xml: Any = next((plugin for plugin in plugins if hasattr(plugin, "add_global_property")), None)
        if xml is None:
            return
        (_, *names), *rows = self._table()
        for row in rows:
            for name, value in zip(names, row[1:], strict=True):
                xml.add_global_property(f"{PREFIX}{row[0]}_{name.replace(' ', '_')}", value)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show a row for each provider."""
        table = list(self._table())
        notes = list(self._notes(terminalreporter.config))
        if not self._cases and not notes:
            return
        write_title(terminalreporter, "-", "usage of the live run" if self.is_live else "recorded replies")
        for line in table_lines(table) if self._cases else ():
            write_line(terminalreporter, line)
        for note in notes:
            write_line(terminalreporter, note)

    def _notes(self, config: pytest.Config) -> Iterator[str]:
        """What to know about the run beside the numbers, a line each."""
        if budget_key in config.stash:
            yield config.stash[budget_key]
        reasons: dict[str, set[str]] = defaultdict(set)
        for case in itertools.chain.from_iterable(self._cases.values()):
            if "not_sent_ahead" in case:
                reasons[case["not_sent_ahead"]].add(case["nodeid"])
        for reason, node_ids in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
            # One case alone does not make a run slow.
            if len(node_ids) > 1:
                yield f"{len(node_ids)} cases were sent one by one: {reason}"
        if self._repeated:
            # Most runs have none.
            from pytest_chatprompt.results.texts import summary_of_rates  # noqa: PLC0415

            rates = {node_id: case[RATE_PROPERTY].split("/") for node_id, case in self._repeated.items()}
            yield from summary_of_rates(
                {node_id: (int(passed), int(answers)) for node_id, (passed, answers) in rates.items()}
            )
        yield from self._notes_of_recordings(config.stash.get(pruned_key, 0))
        count = config.stash.get(early_answers_key, 0)
        if count:
            nouns = "answer, for a case that" if count == 1 else "answers, for cases that"
            yield f"Recorded {count} more {nouns} did not run."

    def _notes_of_recordings(self, pruned: int) -> Iterator[str]:
        """How much was replayed, what that saved, and which recorded replies no request asked for."""
        totals = {key: sum(case.get(key, 0) for case in self._recorded) for key in _RECORDING_KEYS}
        if totals["replayed"] or (totals["sent"] and self.replays):
            saved = f"{totals['saved_input_tokens']} input and {totals['saved_output_tokens']} output tokens"
            sent = f", {_count(totals['sent'], 'request was', 'requests were')} sent" if self.is_live else ""
            yield f"{_count(totals['replayed'], 'reply was', 'replies were')} replayed, which saved {saved}{sent}."
        if totals["unused_recorded"] > pruned:
            nouns = _count(totals["unused_recorded"], "recorded reply", "recorded replies")
            tests = [case["nodeid"] for case in self._recorded if case.get("unused_recorded")]
            yield (
                f"{nouns} that no request asked for, in {_some(tests)}; "
                "to remove what a run of all tests does not need: "
                "pytest --chatprompt-replay --chatprompt-remove-unused"
            )
        unanswered = [case["nodeid"] for case in self._recorded if case.get("unanswered")]
        if unanswered:
            nouns = _count(sum(case.get("unanswered", 0) for case in self._recorded), "request", "requests")
            yield f"Not recorded, because no complete reply of at most 64 MiB came: {nouns}, in {_some(unanswered)}."
        late = [case["nodeid"] for case in self._recorded if case.get("late_difference")]
        if late:
            yield (
                f"After the first real reply, {_count(len(late), 'test', 'tests')} sent something other than the "
                f"snapshot shows, which may hold that reply: {_some(late)}."
            )

    def _table(self) -> Iterator[tuple[str, ...]]:
        """A row for each provider, below the names of the columns."""
        has_costs = any("cost_usd" in case for case in itertools.chain.from_iterable(self._cases.values()))
        yield (*_HEAD, _COST_HEAD) if has_costs else _HEAD
        for provider, cases in sorted(self._cases.items()):
            latencies = [value for value in _values(cases, "latency_seconds") if _is_number(value)]
            yield (
                provider,
                # A case that ran twice is one case, but its tokens count twice.
                str(len({case["nodeid"] for case in cases})),
                _total(_values(cases, "input_tokens"), _sum),
                _total(_values(cases, "output_tokens"), _sum),
                str(sum(case["retries"] for case in cases)),
                f"{statistics.median(latencies):.2f} s" if latencies else UNKNOWN,
                f"{max(latencies):.2f} s" if latencies else UNKNOWN,
                *([_total(_values(cases, "cost_usd"), _cost)] if has_costs else []),
            )


def _values(cases: Iterable[Mapping[str, Any]], key: str) -> list[Any]:
    """The numbers of all answers; a case that was sent several times has a list of them."""
    values = (case.get(key) for case in cases)
    return list(itertools.chain.from_iterable(value if isinstance(value, list) else [value] for value in values))


def _count(number: int, noun: str, nouns: str) -> str:
    return f"{number} {noun if number == 1 else nouns}"


def _some(node_ids: list[str]) -> str:
    """The first few of a list."""
    shown = ", ".join(node_ids[:_SHOWN_TESTS])
    return shown if len(node_ids) <= _SHOWN_TESTS else f"{shown} and {len(node_ids) - _SHOWN_TESTS} more"


def _total(numbers: list[Any], show: Callable[[list[Any]], str]) -> str:
    """A sum, and how many answers lack the number: `1234`, `1234 + 2 unknown`, `unknown`."""
    known = [number for number in numbers if _is_number(number)]
    unknown = len(numbers) - len(known)
    if not known:
        return UNKNOWN
    return f"{show(known)} + {unknown} {UNKNOWN}" if unknown else show(known)


def _sum(tokens: list[int]) -> str:
    return str(sum(tokens))


def _cost(costs: list[float]) -> str:
    return dollars(math.fsum(costs))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
