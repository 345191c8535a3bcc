"""Plugins that collect the results of a run from pytest's reports: for files and for the terminal."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_chatprompt.apis.conversation import PromptPart
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.options import options_key
from pytest_chatprompt.reports.answers import case_line, provider_totals, table_rows
from pytest_chatprompt.reports.formats import write_report
from pytest_chatprompt.reports.terminal import table_lines, write_below, write_lines, write_section, write_title
from pytest_chatprompt.results.records import CaseResult, ErrorResult, RunResults, SnapshotUses
from pytest_chatprompt.snapshots.changes import requests_in
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.story import read_story, steps
from pytest_chatprompt.wording import count, shown_path


def result_of(report: Any) -> CaseResult | None:
    """The result that the report of a test has; `None` if it has none."""
    text: str | None = getattr(report, "chatprompt_result", None)
    return None if text is None else CaseResult.model_validate(json.loads(text))


class CollectedResults:
    """Collects the results of a run in the order in which the tests ended; of one that ran several times, the last."""

    def __init__(self) -> None:
        self.results: dict[str, CaseResult] = {}
        self._starting: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a test; where a subtest of it has failed, that of this one."""
        if report.when == "setup":
            self._starting.add(report.nodeid)
        result = result_of(report)
        if result is None:
            return
        is_first = report.nodeid in self._starting
        self._starting.discard(report.nodeid)
        earlier = self.results.pop(result.node_id, None)
        if earlier is not None and report.when == "teardown":
            # What was compared stays, however the fixtures ended.
            update = {"outcome": result.outcome, "error": result.error, "versions": result.versions or earlier.versions}
            result = earlier.model_copy(update=update)
        elif earlier is not None and not is_first:
            has_failed = earlier.outcome == "failed" and result.outcome == "passed"
            result = earlier.join(result) if has_failed else result.join(earlier)
        self.results[result.node_id] = result


# What the run did not use of the snapshots of its files; `items` sets it when the run ends.
snapshot_uses_key: Final = pytest.StashKey[tuple[SnapshotUses, ...]]()


def run_results(config: pytest.Config, results: Iterable[CaseResult]) -> RunResults:
    """What the tests of a run did, with how it was started."""
    options, told, ab = config.stash[options_key], tuple(results), None
    if options.ab is not None:
        # Most runs compare no versions.
        from pytest_chatprompt.reports.ab import Compared  # noqa: PLC0415

        ab = Compared.of(told, options.ab, is_sequential=options.least_repeat is not None).result()
    return RunResults(
        command=tuple(map(str, config.invocation_params.args)),
        folder=Path(os.path.relpath(config.invocation_params.dir, config.rootpath)).as_posix(),
        is_live=options.live,
        against=options.against or options.ab_revision,
        ab=ab,
        results=told,
        snapshots=config.stash.get(snapshot_uses_key, ()),
    )


class RunReports(CollectedResults):
    """Collects the results of a run and writes its reports."""

    def __init__(self) -> None:
        super().__init__()
        self._errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what could not be collected: the run lacks the tests that it defines."""
        if not report.failed:
            return
        path = report.nodeid.partition("::")[0] or "."
        lines = report.longreprtext.splitlines() or [""]
        # Of a module pytest shows the traceback; its error begins with an E.
        errors = [line[1:].strip() for line in lines if line.startswith("E  ")]
        # An eval file's error names the line.
        place = re.match(rf"{re.escape(path)}:(\d+):\d+: ", lines[0])
        line = int(place[1]) if place else 0
        message = errors[-1] if errors else lines[0][place.end() if place else 0 :]
        error = ErrorResult(message=message, path=path, line=line)
        result = CaseResult(node_id=report.nodeid or path, path=path, line=max(line, 1), outcome="error", error=error)
        self.results[result.node_id] = result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports."""
        config = session.config
        run = run_results(config, self.results.values())
        for path in config.stash[options_key].reports:
            if problem := write_report(path, run):
                self._errors.append(f"cannot write the report {shown_path(path, config.rootpath)}: {problem}")
        if self._errors and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Say where the reports are."""
        write_lines(terminalreporter, self._errors, red=True)
        for path in () if self._errors else config.stash[options_key].reports:
            write_title(terminalreporter, "-", f"wrote the report {shown_path(path, config.rootpath)}")


# What a snapshot holds beside what is sent.
_OTHER_KEYS: Final = frozenset({"provider", "question", "adjustments", "judge"})


class ShownRequests(CollectedResults):
    """Collects what tests send, and prints it when the run ends."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test has sent."""
        if report.when == "call":
            super().pytest_runtest_logreport(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what the tests sent."""
        write_title(terminalreporter, "=", "what is sent")
        for result in self.results.values():
            name = result.node_id if result.provider is None else f"{result.node_id} ({result.provider})"
            write_section(terminalreporter, name, shown_lines(result), "_")


def shown_lines(result: CaseResult) -> Iterator[str]:
    """What a test sends, a line each: of each request its endpoint, the conversation, what fills it, and the body.

    Of several the conversations come first, as one story.
    """
    kept = None if result.snapshot is None else result.snapshot.sent
    data = kept if isinstance(kept, Mapping) else {}
    requests = result.requests or ([] if "argv" in data else list(requests_in(data).values()))
    sizes = [_part_lines(each) for each in result.parts]
    titles, parts = [request["endpoint"] for request in requests], []
    if len(requests) > 1:
        titles = [f"request {number} of {len(titles)}: {title}" for number, title in enumerate(titles, start=1)]
        parts = [*_story_lines(titles, requests)]
    for number, request in enumerate(requests):
        body = {key: request[key] for key in ("headers", "request") if key in request}
        conversation = "" if len(requests) > 1 else SentRequest(request["endpoint"], request["request"]).question
        parts += [titles[number], conversation, *sizes[number : number + 1], dump(body)]
    if not requests and data:
        # An agent, or a plain function.
        parts += [data.get("question", ""), *sizes, dump({key: data[key] for key in data if key not in _OTHER_KEYS})]
    parts += [f"to the judge:\n{dump(asked)}" for asked in data.get("judge", ())]
    yield from "\n\n".join(part.removesuffix("\n") for part in parts if part).splitlines() or ["(nothing)"]


def _story_lines(titles: Sequence[str], requests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The conversations of several requests: of each what is new in it, its turns numbered through all of them."""
    story = read_story({"requests": list(requests)})
    told = [*steps(story)]
    for number, request in enumerate(story):
        after = f", after {count(request.kept, 'turn')} of request {request.earlier}" if request.kept else ""
        yield f"{titles[number]}{after}"
        yield "\n".join(f"{step}. {text}" for index, step, text in told if index == number)


def _part_lines(parts: Sequence[PromptPart]) -> str:
    """What fills the window of the model, as a table."""
    rows = [(part.name, part.characters, part.tokens) for part in parts]
    rows.append(("together", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    head = ("what fills it", "characters", "tokens, about" if any(part.is_estimate for part in parts) else "tokens")
    return "\n".join(table_lines([head, *((name, f"{size:,}", f"{tokens:,}") for name, size, tokens in rows)]))


class ProviderComparison(CollectedResults):
    """Collects what came of each case, and shows the providers side by side when the run ends."""

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the table, if several providers have answered."""
        totals = provider_totals([each for each in self.results.values() if each.provider is not None])
        if len(totals) > 1:
            write_section(terminalreporter, "providers side by side", table_lines(table_rows(totals)))


_INDENT: Final = "    "


class AnswerHooks:
    """Shows the answers of passing cases while the run goes on."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the line of a case below the one that pytest has written."""
        result = result_of(report) if report.when == "call" and report.passed else None
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if result is None or reporter is None:
            return
        line = case_line(result, self._config.get_terminal_writer().fullwidth - len(_INDENT))
        if line is not None:
            write_below(reporter, f"{_INDENT}{line}")
