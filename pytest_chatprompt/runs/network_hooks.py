"""Network hooks: say which test runs, keep eval items offline, and report what was tried.

From the first eval item on, nothing leaves the process between tests either, until the run ends.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, nullcontext
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

import pytest

from pytest_chatprompt.capture.guard import (
    ConnectionAttempts,
    Owner,
    guard_network,
    lift,
    run_as,
    run_for_all,
    run_in_test,
)
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.options import options_key
from pytest_chatprompt.runs.item import ENDED_EARLY, EvalItem

# pytest shows no frame of this module.
__tracebackhide__ = True


class NetworkHooks:
    """The hooks that keep eval items offline, and tell apart what tests send.

    `late` has node ids, `""` for no test, and what was tried after these tests had ended, in workers too.
    """

    def __init__(self, config: pytest.Config, redactor: Redactor) -> None:
        self.config = config
        self.redactor = redactor
        self.late: dict[tuple[str, str], None] = {}
        self._attempts = ConnectionAttempts()
        # Between tests, from the first eval item on.
        self._between: ConnectionAttempts | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Guard the network for an eval item and its fixtures, unless the run is live; say for all which one runs."""
        is_live = self.config.stash[options_key].live
        with ExitStack() as stack:
            owner = stack.enter_context(run_as(item.nodeid, self.tell))
            if isinstance(item, EvalItem) and not is_live:
                if self._between is None:
                    # Programs may be started between tests as before.
                    hosts, between = self.config.stash[options_key].allowed_hosts, ExitStack()
                    guard = guard_network(allows_programs=True, allowed_hosts=hosts, owner=Owner("", self.tell))
                    self._between = between.enter_context(guard)
                    self.config.add_cleanup(between.close)
                self._attempts = owner.guard = stack.enter_context(guard_network())
                stack.callback(owner.leave_threads)
            elif self._between is not None and "eval_api" not in getattr(item, "fixturenames", ()):
                stack.enter_context(lift(self._between))
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
        """Let what a fixture of a wider scope starts belong to no test: it works for all of them."""
        with nullcontext() if request.scope == "function" else run_for_all():
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> None:
        """Let an async test belong to itself: anyio runs all tests of a module in one task."""
        function = pyfuncitem.obj
        if iscoroutinefunction(function):

            @wraps(function)
            async def run_test(*args: Any, **kwargs: Any) -> Any:
                with run_in_test():
                    return await function(*args, **kwargs)

            pyfuncitem.obj = run_test

    def take_swallowed(self, call: pytest.CallInfo[None]) -> str:
        """Describe a blocked connection whose error the item's code swallowed; `""` if the phase fails anyway."""
        attempts = self._attempts
        is_failed = call.excinfo is not None and not call.excinfo.errisinstance(ENDED_EARLY)
        if not is_failed and (call.when == "setup" or call.excinfo is not None):
            # The call reports what a fixture tried: the case fails then, which an error of its setup would not say.
            # A skip is not a failure; after it the teardown does.
            return ""
        tried = [(target, f"a connection to {target} was blocked") for target in attempts.blocked]
        tried += [(program, f"the program {program} was not started") for program in attempts.programs]
        attempts.blocked.clear()
        attempts.programs.clear()
        if is_failed or not tried:
            return ""
        target, text = tried[0]
        return f"{text}: this is an offline run{attempts.callers[target].describe()}"

    def tell(self, node_id: str, attempt: str) -> None:
        """Tell what was tried after the end of a test: `send POST https://api.example/`; once, however often it is."""
        self.late[node_id, self.redactor.redact(attempt)] = None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List what was tried, below the tests that left it behind."""
        if not self.late:
            return
        from pytest_chatprompt.reports.terminal import write_section  # noqa: PLC0415

        lines = []
        for node_id, attempt in self.late:
            who = f"{node_id}: what it started" if node_id else "between tests: something"
            lines.append(f"{who} tried to {attempt}")
        advice = "End what a test starts before the test ends, or start it in a fixture of a wider scope."
        lines.append(f"It was blocked. {advice}")
        write_section(terminalreporter, "network access after the end of a test", lines)
