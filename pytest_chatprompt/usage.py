"""What a live run took: tokens, retries and latency, for each provider.

The numbers of a case go into its report as user properties, so that they reach JUnit's XML, and pytest-xdist's
controller; a `UsageTable`, registered in live runs, adds them up and shows them at the end.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from pytest_chatprompt.errors import ProviderError
from pytest_chatprompt.requests import ProviderResponse

_PREFIX: Final = "chatprompt_"
_UNKNOWN: Final = "unknown"
_HEAD: Final = ("provider", "cases", "input tokens", "output tokens", "retries", "median latency", "slowest latency")


def note_usage(item: pytest.Item, provider_name: str, outcome: ProviderResponse | ProviderError) -> None:
    """Put what a request took into the properties of its case.

    Args:
        item: the case.
        provider_name: the name by which the provider was asked for.
        outcome: the answer, or why there is none.
    """
    properties: dict[str, Any] = {"provider": provider_name, "retries": outcome.retries}
    if isinstance(outcome, ProviderResponse):
        usage, latency = outcome.usage, outcome.latency_seconds
        properties["input_tokens"] = _UNKNOWN if usage.input_tokens is None else usage.input_tokens
        properties["output_tokens"] = _UNKNOWN if usage.output_tokens is None else usage.output_tokens
        properties["latency_seconds"] = _UNKNOWN if latency is None else round(latency, 3)
    # A case that is run again has the numbers of its last run.
    others = [one for one in item.user_properties if not one[0].startswith(_PREFIX)]
    item.user_properties[:] = [*others, *((f"{_PREFIX}{name}", value) for name, value in properties.items())]


@dataclass(eq=False)
class UsageTable:
    """Adds up what the cases of a run took."""

    _cases: dict[str, list[Mapping[str, Any]]] = field(default_factory=lambda: defaultdict(list))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take over the numbers of a case."""
        if report.when != "teardown":
            return
        found = {
            name.removeprefix(_PREFIX): value for name, value in report.user_properties if name.startswith(_PREFIX)
        }
        if "provider" in found:
            self._cases[str(found["provider"])].append({**found, "nodeid": report.nodeid})

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Put the numbers into JUnit's XML, which is written when the session finishes."""
        # Its plugin has no name; the fixture that it has for this is not there in the controller of pytest-xdist.
        plugins = session.config.pluginmanager.get_plugins()
        xml: Any = next((one for one in plugins if hasattr(one, "add_global_property")), None)
        for row in self._rows() if xml is not None else ():
            for name, value in zip(_HEAD[1:], row[1:], strict=True):
                xml.add_global_property(f"{_PREFIX}{row[0]}_{name.replace(' ', '_')}", value)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the table."""
        rows = list(self._rows())
        if not rows:
            return
        terminalreporter.write_sep("-", "what the live run took")
        widths = [max(len(row[column]) for row in (_HEAD, *rows)) for column in range(len(_HEAD))]
        for row in (_HEAD, *rows):
            name, *numbers = (
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            terminalreporter.write_line("  ".join((name, *numbers)).rstrip())

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for provider, cases in sorted(self._cases.items()):
            latencies = [case["latency_seconds"] for case in cases if _is_number(case.get("latency_seconds"))]
            yield (
                provider,
                # One that is run again is one case, and has cost twice.
                str(len({case["nodeid"] for case in cases})),
                _sum([case.get("input_tokens") for case in cases]),
                _sum([case.get("output_tokens") for case in cases]),
                str(sum(case["retries"] for case in cases)),
                f"{statistics.median(latencies):.2f} s" if latencies else _UNKNOWN,
                f"{max(latencies):.2f} s" if latencies else _UNKNOWN,
            )


def _sum(counts: list[Any]) -> str:
    """A sum, and how many of the cases are not in it: `1234`, `1234 + 2 unknown`, `unknown`."""
    known = [count for count in counts if _is_number(count)]
    unknown = len(counts) - len(known)
    if not known:
        return _UNKNOWN
    return f"{sum(known)} + {unknown} {_UNKNOWN}" if unknown else str(sum(known))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
