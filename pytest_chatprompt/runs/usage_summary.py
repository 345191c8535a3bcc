"""The usage summary: what a live or replayed run used, in a table at its end, and what made it slow.

The reports of the tests come in, with the properties that `usage` gave them; a table and notes come out, and the totals
for JUnit's XML. `plugin` registers a `UsageSummary` in live and replayed runs.
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from pytest_chatprompt.reports.terminal import table_lines, write_line, write_title
from pytest_chatprompt.runs.repeat_count import RATE_PROPERTY, rate_of
from pytest_chatprompt.runs.usage import PREFIX, UNKNOWN, budget_key, early_answers_key, pruned_key
from pytest_chatprompt.wording import dollars

_RECORDING_KEYS: Final = ("replayed", "sent", "unused_recorded", "saved_input_tokens", "saved_output_tokens")
_SHOWN_TESTS: Final = 3
_JUDGE: Final = "judge_"
# What the judges of all cases used, in a row of its own.
_JUDGE_ROW: Final = "(judge)"
# The last column stands there only if some cost is known.
_COST: Final = "cost"
_HEAD: Final = ("provider", "cases", "input tokens", "output tokens", "retries", "median latency", "slowest latency")


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

            yield from summary_of_rates({node_id: rate_of(case) for node_id, case in self._repeated.items()})
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
        yield (*_HEAD, _COST) if has_costs else _HEAD
        for provider, cases in sorted(self._cases.items()):
            latencies = [value for value in _values(cases, "latency_seconds") if _is_number(value)]
            yield (
                provider,
                # A case that ran twice is one case, but its tokens count twice.
                str(len({case["nodeid"] for case in cases})),
                _sum(_values(cases, "input_tokens")),
                _sum(_values(cases, "output_tokens")),
                str(sum(case["retries"] for case in cases)),
                f"{statistics.median(latencies):.2f} s" if latencies else UNKNOWN,
                f"{max(latencies):.2f} s" if latencies else UNKNOWN,
                *([_cost(_values(cases, "cost_usd"))] if has_costs else []),
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


def _sum(counts: list[Any]) -> str:
    """A sum, and how many cases did not report a number: `1234`, `1234 + 2 unknown`, `unknown`."""
    known = [count for count in counts if _is_number(count)]
    unknown = len(counts) - len(known)
    if not known:
        return UNKNOWN
    return f"{sum(known)} + {unknown} {UNKNOWN}" if unknown else str(sum(known))


def _cost(costs: list[Any]) -> str:
    """A sum, and of how many answers the cost is not known: `$0.12`, `$0.12 + 2 unknown`, `unknown`."""
    known = [cost for cost in costs if _is_number(cost)]
    unknown = len(costs) - len(known)
    if not known:
        return UNKNOWN
    return f"{dollars(math.fsum(known))} + {unknown} {UNKNOWN}" if unknown else dollars(math.fsum(known))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
