"""The data of the page: what its script reads, compressed.

A `RunResults` comes in; an index of all cases, and their bodies in blocks of about the same size come out, each JSON
that was compressed by gzip and written in base64. The page unpacks the index at once, and a block when one of its cases
is opened or its texts are searched. The same run gives the same text. Pure; `page` calls it.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_chatprompt.reports.review import Review
from pytest_chatprompt.reports.run_commands import accept
from pytest_chatprompt.reports.sent_requests import sent_requests
from pytest_chatprompt.results.case_result import CaseResult, SnapshotResult
from pytest_chatprompt.results.check_result import CheckResult
from pytest_chatprompt.results.run_results import RunResults
from pytest_chatprompt.snapshots.serializer import dump

# Characters of JSON: so many are unpacked in a few hundredths of a second.
_BLOCK_CHARACTERS: Final = 400_000


@dataclass(frozen=True, slots=True)
class PageData:
    """What the script of the page reads.

    Args:
        index: a line of each case, and in which block its body is.
        blocks: the bodies.
    """

    index: str
    blocks: tuple[str, ...]


def page_data(run: RunResults, review: Review) -> PageData:
    """The data of a run.

    Args:
        run: the run.
        review: of those of its cases that differ.
    """
    numbers = {distinct.change.content: number for number, distinct in enumerate(review.changes)}
    entries: list[dict[str, Any]] = []
    blocks: list[str] = []
    bodies: list[str] = []
    size = 0
    for result in run.results:
        body = json.dumps(_body(run, result), separators=(",", ":"))
        if bodies and size + len(body) > _BLOCK_CHARACTERS:
            blocks.append(_packed(f"[{','.join(bodies)}]"))
            bodies, size = [], 0
        entries.append(_entry(result, numbers, review.renamed) | {"block": len(blocks), "at": len(bodies)})
        bodies.append(body)
        size += len(body)
    if bodies:
        blocks.append(_packed(f"[{','.join(bodies)}]"))
    index = {"isLive": run.is_live, "cases": entries}
    return PageData(_packed(json.dumps(index, separators=(",", ":"))), tuple(blocks))


def _packed(text: str) -> str:
    """Text as base64 of gzip. It is ASCII: JSON escapes everything else, half surrogates too."""
    return base64.b64encode(gzip.compress(text.encode("ascii"), compresslevel=6, mtime=0)).decode("ascii")


def _entry(result: CaseResult, numbers: Mapping[Any, int], renamed: Mapping[str, str]) -> dict[str, Any]:
    """The line of a case: what the list shows and filters by."""
    snapshot = result.snapshot
    is_moved = result.node_id in renamed
    changes = [] if is_moved else sorted({numbers[change.content] for change in result.difference.changes})
    old = renamed.get(result.node_id) or ("" if snapshot is None else snapshot.renamed_from)
    entry = {
        "id": result.node_id,
        "case": result.case_id or "",
        "path": result.path,
        "line": result.line,
        "provider": result.provider or "",
        "outcome": result.outcome,
        "state": "" if snapshot is None else snapshot.state,
        "renamed": old or "",
        "changes": changes,
    }
    return {key: value for key, value in entry.items() if value not in ("", [])}


def _body(run: RunResults, result: CaseResult) -> dict[str, Any]:
    """What the page shows of a case that is opened."""
    snapshot = result.snapshot
    body: dict[str, Any] = {
        "findings": list(result.findings),
        "adjustments": list(result.adjustments),
        "checks": [_check(check) for check in result.checks],
        "response": None if result.response is None else result.response.model_dump(mode="python"),
        "error": None if result.error is None else result.error.model_dump(mode="python"),
    }
    if result.requests and (snapshot is None or not snapshot.sent):
        body["sent"] = _side({"requests": list(result.requests)})
    if snapshot is not None:
        body |= {"snapshot": snapshot.path, **_sides(snapshot)}
        if snapshot.state != "same":
            body["accept"] = accept(run, [result])
    return {key: value for key, value in body.items() if value}


def _check(check: CheckResult) -> dict[str, Any]:
    noun = "" if check.passed is None else f"the {check.of} "
    return {
        "verdict": check.verdict,
        "text": check.description,
        "reason": f"{noun}{check.reason}",
        "place": check.place,
    }


def _sides(snapshot: SnapshotResult) -> dict[str, Any]:
    """Before and after; the hunks if these texts were not kept."""
    sides: dict[str, Any] = {
        name: _side(data) for name, data in (("stored", snapshot.stored), ("sent", snapshot.sent)) if data
    }
    if snapshot.state == "different" and len(sides) < 2:  # noqa: PLR2004 - before and after
        sides["hunks"] = [{"place": hunk.place, "lines": hunk.lines} for hunk in snapshot.difference.hunks]
    return sides


def _side(data: Any) -> dict[str, Any]:
    return {"payload": _payload(data), "requests": sent_requests(data)}


def _payload(data: Any) -> str:
    """The text of the snapshot; the data as JSON if no snapshot can hold it."""
    if isinstance(data, str):
        return data
    try:
        return dump(data)
    except (TypeError, AttributeError):
        return json.dumps(data, indent=2, ensure_ascii=False, default=str)
