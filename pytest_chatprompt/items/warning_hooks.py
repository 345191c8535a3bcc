"""Warning hooks: report equal preflight warnings once, with the number of cases.

A `WarningHooks` is registered as a plugin together with the run's `EvalSession`. A setting that an API rejects
gives the same warning for every case of a file; pytest's summary would print it at each line.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

_MARK: Final = ": PayloadWarning: "
_MAX_LOCATIONS: Final = 3


class WarningHooks:
    """The hook that merges equal warnings."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Merge equal preflight warnings into the first, which names the places of the others."""
        # The summary of warnings is written before any `pytest_terminal_summary` of a plugin is called.
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        reports = [] if reporter is None else reporter.stats.get("warnings", [])
        merged: list[Any] = []
        first_by_text: dict[str, Any] = {}
        first_locations: dict[str, str] = {}
        locations: dict[str, list[str]] = {}
        for report in reports:
            location, mark, rest = report.message.partition(_MARK)
            # Below the text stands the line of the file.
            text = rest.partition("\n")[0]
            if not mark:
                merged.append(report)
            elif text in first_by_text:
                locations[text].append(location)
            else:
                first_by_text[text] = report
                first_locations[text], locations[text] = location, []
                merged.append(report)
        for text, others in locations.items():
            if others:
                first_by_text[text].message = first_by_text[text].message.rstrip() + _others(
                    others, first_locations[text]
                )
        reports[:] = merged


def _others(locations: list[str], first: str) -> str:
    """What to add for other cases; a place that is shared, such as a setting of the file, is named once."""
    count = len(locations)
    places = [place for place in dict.fromkeys(locations) if place != first]
    shown = ", ".join(places[:_MAX_LOCATIONS]) + (", ..." if len(places) > _MAX_LOCATIONS else "")
    return f"\nThe same for {count} more {'case' if count == 1 else 'cases'}" + (f": {shown}" if shown else "")
