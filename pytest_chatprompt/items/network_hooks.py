"""Network hooks: keep eval items offline, and report what they tried.

A `NetworkHooks` is registered as a plugin together with the run's `EvalSession`. While an item and its fixtures run
offline, it blocks the network and the start of programs. `pytest_report_hooks` asks it for attempts whose error was
swallowed. The attempts of threads that outlived their item are reported at the end of the run.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_chatprompt.capture.network_guard import ConnectionAttempts, guard_network
from pytest_chatprompt.items.failures import ENDED_EARLY
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.options import options_key
from pytest_chatprompt.reports.terminal import write_line, write_title


@dataclass(eq=False)
class NetworkHooks:
    """The hooks that keep eval items offline.

    Args:
        config: the run's configuration.
        late: node ids and what their threads tried after the items had ended, from this process and its workers.
    """

    config: pytest.Config
    late: list[tuple[str, str]] = field(default_factory=list)
    _attempts: ConnectionAttempts = field(default_factory=ConnectionAttempts)
    _with_late_threads: list[ConnectionAttempts] = field(default_factory=list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Guard the network for an eval item and its fixtures, unless the run is live."""
        if not isinstance(item, EvalItem) or self.config.stash[options_key].live:
            return (yield)
        try:
            with guard_network(item.nodeid) as self._attempts:
                return (yield)
        finally:
            if self._attempts.has_late_threads:
                self._with_late_threads.append(self._attempts)

    def take_swallowed(self, call: pytest.CallInfo[None]) -> str:
        """Describe a blocked connection whose error the item's code swallowed.

        Args:
            call: the phase: setup, call or teardown.

        Returns:
            What to report; `""` if nothing was tried, or if the phase fails anyway.
        """
        attempts = self._attempts
        is_failed = call.excinfo is not None and not call.excinfo.errisinstance(ENDED_EARLY)
        if not is_failed and (call.when == "setup" or call.excinfo is not None):
            # The call reports what a fixture tried: the case fails then, which an error of its setup would not say.
            # A skip is not a failure; after it the teardown does.
            return ""
        text = ""
        if attempts.blocked:
            text = f"a connection to {attempts.blocked[0]} was blocked: this is an offline run"
        elif attempts.programs:
            text = f"the program {attempts.programs[0]} was not started: this is an offline run"
        if text:
            text += attempts.callers[(*attempts.blocked, *attempts.programs)[0]].describe()
        attempts.blocked.clear()
        attempts.programs.clear()
        return "" if is_failed else text

    def collect_late(self) -> list[tuple[str, str]]:
        """What threads tried after their items had ended; `session` asks at the end of the run.

        Returns:
            `late`, completed.
        """
        self.late += [(attempts.owner, target) for attempts in self._with_late_threads for target in attempts.late]
        self._with_late_threads.clear()
        return self.late

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List what such threads tried, below the items that started them."""
        if not self.late:
            return
        write_title(terminalreporter, "-", "network access after the end of a case")
        for node_id, target in self.late:
            write_line(terminalreporter, f"{node_id}: a thread that it started tried to reach {target} later")
        write_line(terminalreporter, "It was blocked: this is an offline run. End the thread before the case ends.")
