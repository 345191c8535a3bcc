"""The data of the page: what its script reads, compressed.

A `RunResults` comes in; an index of all cases, their texts and their bodies in parts of about the same size come out,
as JSON that was compressed by gzip and written in base64. The page unpacks the index at once, then the texts, which it
searches, and a block when one of its cases is opened. The same run gives the same text. Pure; `page` calls it.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_chatprompt.reports.page_requests import page_requests
from pytest_chatprompt.reports.page_texts import PageTexts
from pytest_chatprompt.reports.review_lines import Review
from pytest_chatprompt.reports.run_commands import accept
from pytest_chatprompt.results.case_result import CaseResult, RepeatsResult
from pytest_chatprompt.results.check_result import CheckResult
from pytest_chatprompt.results.repeats_text import describe_passes
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
        texts: the parts of `PageTexts`.
    """

    index: str
    blocks: tuple[str, ...]
    texts: tuple[str, ...]


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
    texts = PageTexts()
    for result in run.results:
        body = _dumped(_body(run, result))
        if bodies and size + len(body) > _BLOCK_CHARACTERS:
            blocks.append(_packed(f"[{','.join(bodies)}]"))
            bodies, size = [], 0
        entries.append(_entry(result, numbers, review.renamed) | {"block": len(blocks), "at": len(bodies)})
        bodies.append(body)
        size += len(body)
        texts.add(_texts(result))
    if bodies:
        blocks.append(_packed(f"[{','.join(bodies)}]"))
    index = {"isLive": run.is_live, "cases": entries}
    parts = (_packed(_dumped(part)) for part in texts.parts)
    return PageData(_packed(_dumped(index)), tuple(blocks), tuple(parts))


def _dumped(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))


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
        "repeats": None if result.repeats is None else _repeats(result.repeats),
        "response": None if result.response is None else result.response.model_dump(mode="python"),
        "error": None if result.error is None else result.error.model_dump(mode="python"),
    }
    body |= {name: {"requests": page_requests(data)} for name, data in _sides(result).items()}
    if snapshot is not None:
        body |= {"snapshot": snapshot.path}
        if snapshot.state == "different" and not (snapshot.stored and snapshot.sent):
            # Nobody kept before and after.
            body["hunks"] = [{"place": hunk.place, "lines": hunk.lines} for hunk in snapshot.difference.hunks]
        if snapshot.state != "same":
            body["accept"] = accept(run, [result])
    return {key: value for key, value in body.items() if value}


def _repeats(repeats: RepeatsResult) -> dict[str, Any]:
    return {
        "rate": describe_passes(repeats),
        "attempts": [
            {
                "number": attempt.number,
                "outcome": attempt.outcome,
                "problem": attempt.problem,
                "response": None if attempt.response is None else attempt.response.model_dump(mode="python"),
                "checks": [_check(check) for check in attempt.checks],
            }
            for attempt in repeats.attempts
        ],
    }


def _check(check: CheckResult) -> dict[str, Any]:
    noun = "" if check.passed is None else f"the {check.of} "
    return {
        "verdict": check.verdict,
        "text": check.description,
        "reason": f"{noun}{check.reason}",
        "place": check.place,
    }


def _sides(result: CaseResult) -> dict[str, Any]:
    """What a case sent, and what its snapshot has stored, as far as it was kept."""
    snapshot = result.snapshot
    sides: dict[str, Any] = {} if snapshot is None else {"stored": snapshot.stored, "sent": snapshot.sent}
    if result.requests and not sides.get("sent"):
        sides["sent"] = {"requests": list(result.requests)}
    return {name: data for name, data in sides.items() if data}


def _texts(result: CaseResult) -> dict[str, str]:
    """What the page searches of a case: its payloads, which it shows too, its answers, its error and its checks."""
    texts = {name: _payload(data) for name, data in _sides(result).items()}
    others = [*(response.text for response in result.responses), result.error.message if result.error else ""]
    others += [f"{check['text']} {check['reason']}" for check in map(_check, result.all_checks)]
    texts["others"] = "\n".join(filter(None, others))
    return {name: text for name, text in texts.items() if text}


def _payload(data: Any) -> str:
    """The text of the snapshot; the data as JSON if no snapshot can hold it."""
    if isinstance(data, str):
        return data
    try:
        return dump(data)
    except (TypeError, AttributeError):
        return json.dumps(data, indent=2, ensure_ascii=False, default=str)
