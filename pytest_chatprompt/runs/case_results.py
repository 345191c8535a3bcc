"""Case results: the record of what a test did, put into its report.

It is JSON text in the attribute `chatprompt_result` of pytest's report, which comes from the workers of pytest-xdist
with it. What was answered is a section for pytest's `-rP`, too, and properties for JUnit's XML.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor, map_texts
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.errors import MaskError, SnapshotError
from pytest_chatprompt.options import options_key
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.reports.answers import case_section
from pytest_chatprompt.results.records import CaseResult, ErrorResult, ResponseResult, SnapshotResult
from pytest_chatprompt.runs.code_snapshots import accepting_command, last_assertion
from pytest_chatprompt.runs.item import (
    ANSWER_PROPERTY,
    CALLS_PROPERTY,
    CHECK_PROPERTY,
    EvalItem,
    Notes,
    notes_of,
    set_properties,
)
from pytest_chatprompt.runs.own_code import OwnCodeCapture
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.snapshots.changes import data_sha256, read_data, written_sha256
from pytest_chatprompt.snapshots.files import SnapshotFileError, read_snapshot, shown_snapshot
from pytest_chatprompt.snapshots.shown_data import asserted_data, measure
from pytest_chatprompt.snapshots.unused import old_name, snapshots_by_data, unused_snapshots
from pytest_chatprompt.wording import shown_path, visible

if TYPE_CHECKING:
    from syrupy.assertion import AssertionResult

    from pytest_chatprompt.capture.recording.model_answers import ModelAnswer
    from pytest_chatprompt.grading.judge import JudgeVote
    from pytest_chatprompt.live.answers import LiveResponse
    from pytest_chatprompt.prompt.conversion import SentFiles
    from pytest_chatprompt.snapshots.diff import Comparison


# How pytest shows the fixture `eval_snapshot` in a failed comparison.
_REPR: Final = "<eval_snapshot>"
# How the failure of a case begins.
_SENT_TO: Final = "what is sent to "


# What an answer and its record both have.
_SHARED: Final = ("text", "finish_reason", "cost_usd", "latency_seconds", "retries")
_TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens")
_old_names_key: Final[pytest.StashKey[dict[Path, dict[str, Path]]]] = pytest.StashKey()


def add_result(
    item: pytest.Item, report: pytest.TestReport, redactor: Redactor, notes: Notes, answers: list[ModelAnswer]
) -> None:
    """Put the record of a test into its report; `answers` are those to an ordinary test."""
    result = _case_result(item, report, notes, answers)
    snapshot = result.snapshot
    if report.failed and snapshot is not None and _failed_for_snapshot(report, snapshot):
        # Pytest's short summary shows it, and JUnit's XML.
        representation: Any = report.longrepr
        representation.reprcrash.message = _message(item, snapshot)
        cause = snapshot.model_copy(update={"is_cause": True})
        result = result.model_copy(update={"error": _error(item, report), "snapshot": cause})
    # Secrets that JSON escapes would not be found when the whole report is cleaned.
    vars(report)["chatprompt_result"] = json.dumps(map_texts(result.as_data(), redactor.redact))
    if report.when != "teardown" and (isinstance(item, EvalItem) or answers):
        set_properties(item, report, list(_properties(result)))
        if report.passed and result.response is not None:
            # A failure shows what it is about.
            report.sections.append(("answer", visible(case_section(result))))


def _case_result(item: pytest.Item, report: pytest.TestReport, notes: Notes, answers: list[ModelAnswer]) -> CaseResult:
    path, line, _ = item.reportinfo()
    common: dict[str, Any] = {
        "node_id": item.nodeid,
        "path": shown_path(Path(path), item.config.rootpath),
        "line": (line or 0) + 1,
        "outcome": "error" if report.failed and report.when != "call" else report.outcome,
        "error": _error(item, report) if report.failed else None,
    }
    if not isinstance(item, EvalItem):
        sent = _sent_by_test(item)
        requests = () if sent is None else tuple(sent["requests"])
        capture = OwnCodeCapture.of(item)
        findings = () if capture is None else tuple(finding.text for finding in capture.findings)
        found: list[Any] = _snapshots_of_test(item, report, notes, sent)
        common |= {"snapshot": next(iter(found), None), "further": tuple(found[1:])}
        common |= {"requests": requests, "findings": findings, "versions": notes.versions}
        common |= _parts(() if capture is None or sent is None else capture.api.sent, sent)
        return CaseResult(**common, **_answers(answers))
    exchange, snapshot = notes.exchange, None
    # Syrupy keeps its assertions, which know them, to the end of the run.
    _, comparison = notes.differing.popitem() if notes.differing else ("", None)
    if comparison is not None or notes.data is not None:
        snapshot = _snapshot(item, notes, comparison, item.snapshot_path, notes.data)
    return CaseResult(
        **common,
        **_parts(() if exchange is None else exchange.sent, notes.data, notes.files),
        case_id=getattr(item.case, "full_id", item.case.id),
        provider=item.provider_name,
        snapshot=snapshot,
        findings=() if exchange is None else tuple(finding.text for finding in exchange.response.findings),
        adjustments=() if exchange is None else (*exchange.request.adjustments, *exchange.response.adjustments),
        response=answer_result(notes.answer),
        repeats=notes.repeats,
        versions=notes.versions,
        judge=response_results(notes.votes),
        checks=() if notes.checks is None else notes.checks.results(),
    )


def _parts(sent: Sequence[SentRequest], data: Any, files: SentFiles | None = None) -> dict[str, Any]:
    """What fills the window of the model in each request, where a report asks for what is sent."""
    return {} if data is None else {"parts": tuple(measure(sent, data, files))}


def response_results(answers: Iterable[JudgeVote | ModelAnswer]) -> tuple[ResponseResult, ...]:
    """The records of what a judge, or any model, replied, where it did."""
    return tuple(response_result(each.response, each.is_replayed) for each in answers if each.response is not None)


def _failed_for_snapshot(report: pytest.TestReport, snapshot: SnapshotResult) -> bool:
    """Whether a test failed because a snapshot differs, rather than after that."""
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    # An assertion that stands in a `finally` may hide the error that led there.
    if snapshot.state == "same" or crash is None or len(getattr(report.longrepr, "chain", ())) > 1:
        return False
    return any(words in crash.message for words in (snapshot.path, _REPR, _SENT_TO))


def _message(item: pytest.Item, snapshot: SnapshotResult) -> str:
    """Why a test failed, in one short line."""
    if snapshot.state == "different":
        # Most cases are what their snapshots say.
        from pytest_chatprompt.results.wording import summary_line  # noqa: PLC0415

        accepted = item.config.stash[options_key].accept
        return summary_line([each for each in snapshot.difference.changes if not any(map(each.is_named, accepted))])
    if snapshot.renamed_from is not None:
        return f"renamed from {snapshot.renamed_from!r}, no snapshot yet"
    sent = f"what is sent to {item.provider_name}" if isinstance(item, EvalItem) else "what is sent"
    return f"{sent} has no snapshot yet"


def _answers(answers: list[ModelAnswer]) -> dict[str, Any]:
    """The records of what models answered to an ordinary test: together, and one by one."""
    results = response_results(answers)
    if not results:
        return {}
    from pytest_chatprompt.capture.recording.model_answers import summed  # noqa: PLC0415 - most tests get no answers

    summable = (*_TOKENS, "cost_usd", "latency_seconds")
    sums = {name: summed([getattr(result, name) for result in results]) for name in summable}
    together = {
        "text": "\n\n".join(filter(None, (result.text for result in results))),
        "tool_calls": tuple(call for result in results for call in result.tool_calls),
        "requests": len(answers),
        "is_replayed": all(answer.is_replayed for answer in answers),
    }
    return {"response": results[-1].model_copy(update=sums | together), "answers": results}


def answer_result(answer: LiveResponse | None) -> ResponseResult | None:
    """The record of the answer to a case."""
    return None if answer is None else response_result(answer.response, answer.is_replayed, answer.requests)


def response_result(response: ProviderResponse, is_replayed: bool, requests: int = 1) -> ResponseResult:
    """The record of an answer."""
    shared = {name: getattr(response, name) for name in _SHARED}
    tokens = {name: getattr(response.usage, name) for name in _TOKENS}
    calls = tuple(call.model_dump(mode="json") for call in response.tool_calls)
    return ResponseResult(tool_calls=calls, requests=requests, is_replayed=is_replayed, **shared, **tokens)


def _error(item: pytest.Item, report: pytest.TestReport) -> ErrorResult:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return ErrorResult(message=report.longreprtext.partition("\n")[0])
    path = shown_path(Path(crash.path), item.config.rootpath)
    return ErrorResult(message=crash.message.partition("\n")[0], path=path, line=crash.lineno)


def _properties(result: CaseResult) -> Iterator[tuple[str, Any]]:
    for response in result.responses:
        yield ANSWER_PROPERTY, response.text
        if response.tool_calls:
            yield CALLS_PROPERTY, json.dumps(response.tool_calls, ensure_ascii=False)
    for check in result.all_checks:
        yield CHECK_PROPERTY, check.sentence


def fail_for_snapshot(item: EvalItem, result: AssertionResult, exchange: Exchange) -> NoReturn:
    """Fail because the snapshot is not what is sent, and note why for reports."""
    __tracebackhide__ = True
    from pytest_chatprompt.snapshots.diff import Comparison  # noqa: PLC0415

    stored = None if result.recalled_data is None else str(result.recalled_data)
    comparison = Comparison(Path(result.snapshot_location), stored, str(result.asserted_data))
    renamed_from = find_old_name(item, comparison.sent) if stored is None else None
    notes = notes_of(item)
    # A fixture of the project may give another assertion, which has not noted it.
    notes.differing.setdefault(result.snapshot_location, comparison)
    notes.exchange, notes.renamed_from = exchange, renamed_from
    path = shown_snapshot(comparison.path, item.config.rootpath, item.config.stash[options_key].against)
    lines = "\n".join(comparison.lines(path, accepting_command(item)))
    if stored is None:
        renamed = f": it is renamed from {renamed_from!r}, whose snapshot shows just this" if renamed_from else ""
        raise SnapshotError(f"{_SENT_TO}{item.provider_name} has no snapshot yet{renamed}\n{lines}")
    raise SnapshotError(f"{_SENT_TO}{item.provider_name} is not what its snapshot says\n\n{lines}")


def find_old_name(item: Any, sent: str) -> str | None:
    """The id of the gone case whose snapshot, on disk or in the run's git revision, shows what a new case sends."""
    folders = item.session.stash.setdefault(_old_names_key, {})
    folder, revision = item.snapshot_folder, SharedByRun.of(item.config).revision
    if folder not in folders:
        paths = sorted(folder.glob("*.yaml")) if revision is None else revision.yaml_files(folder)
        unused = unused_snapshots(paths, item.parent.stems)
        folders[folder] = snapshots_by_data(unused, read_snapshot if revision is None else revision.read)
    path = folders[folder].get(written_sha256(sent))
    return None if path is None else old_name(path, item.snapshot_stem)


def _sent_by_test(item: pytest.Item) -> dict[str, Any] | None:
    """What an ordinary test has sent, masked as its snapshot would be; `None` if no report asks, or it cannot be."""
    capture = OwnCodeCapture.of(item)
    if capture is None or not item.config.stash[options_key].keeps_results:
        return None
    try:
        sent: dict[str, Any] = capture.masks.apply(asserted_data(capture.api.sent, item.config.rootpath))
    except MaskError:
        # A replacement that does not fit its match: a comparison with a snapshot says so.
        return None
    return sent


def _snapshots_of_test(
    item: pytest.Item, report: pytest.TestReport, notes: Notes, sent: dict[str, Any] | None
) -> list[SnapshotResult]:
    """What of the snapshots of a test differs, first its versions, then what it failed for; else what it compared."""
    assertion = last_assertion(item)
    if assertion is None or report.when != "call":
        return []
    path, differing = assertion.last_result.snapshot_location, assertion.context.differing
    first = [differing.pop(path)] if path in differing else []
    compared = [*notes.differing.values(), *first, *reversed(differing.values())]
    differing.clear()
    if not (compared or report.failed):
        return [_snapshot(item, notes, None, Path(path), sent)]
    return [_snapshot(item, notes, comparison, Path(path), sent) for comparison in compared]


def _snapshot(item: pytest.Item, notes: Notes, comparison: Comparison | None, path: Path, data: Any) -> SnapshotResult:
    """How a comparison ended: it failed, or there is no failed one; see `SnapshotResult`."""
    if comparison is None:
        return SnapshotResult(path=shown_path(path, item.config.rootpath), state="same", sent=data)
    stored, sent = comparison.stored, comparison.sent
    # Most cases are what their snapshots say.
    from pytest_chatprompt.reports.review import change_cost  # noqa: PLC0415

    keeps = item.config.stash[options_key].keeps_results
    stored_data, sent_data = _data(stored), _data(sent)
    return SnapshotResult(
        path=shown_path(comparison.path, item.config.rootpath),
        state="new" if stored is None else "different",
        difference=comparison.difference,
        cost=None if stored is None else change_cost(stored_data, sent_data, notes.files),
        stored_sha256=None if stored is None else data_sha256(stored),
        # As the serializer wrote it, there is nothing to read.
        sent_sha256=written_sha256(sent),
        renamed_from=notes.renamed_from,
        stored=stored_data if keeps else None,
        sent=sent_data if keeps else None,
    )


def _data(text: str | None) -> Any:
    try:
        return None if text is None else read_data(text)
    except SnapshotFileError:
        return text
