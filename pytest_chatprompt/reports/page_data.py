"""The data of the page: what its script reads, as compressed JSON.

The page unpacks the index of all cases at once, then the texts, which it searches, and a block of cases when one of
them is opened.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_chatprompt.apis.conversation import Conversation, ConversationToolCall, Part, Thought, ToolResult
from pytest_chatprompt.apis.table import find_api, get_api
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.reports.review import Review
from pytest_chatprompt.reports.run_commands import accept
from pytest_chatprompt.results.records import CaseResult, CheckResult, RepeatsResult, RunResults
from pytest_chatprompt.results.texts import describe_passes
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.stored import requests_in

# Where APIs have settings of a request beside those at the top.
_SETTING_GROUPS: Final = ("generationConfig", "inferenceConfig", "options")
# Texts of the conversation, which its turns show.
_TEXTS: Final = frozenset({"system", "instructions", "input", "prompt", "message"})
_LONGEST_SETTING: Final = 80


def page_requests(data: Any) -> list[dict[str, Any]]:
    """The requests that a snapshot of any shape shows, each with its turns; those to a judge come last."""
    return [*_requests(data), *_requests_to_judge(data)] if isinstance(data, Mapping) else []


def _requests_to_judge(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    asked = data.get("judge")
    for entry in asked if isinstance(asked, list) else ():
        for request in _requests(entry) if isinstance(entry, Mapping) else ():
            yield {"endpoint": ": ".join(filter(None, ("to the judge", request.pop("endpoint", "")))), **request}


def _requests(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if isinstance(data.get("prompt"), str) and "argv" in data:
        yield {"endpoint": "prompt of the agent", "turns": [{"role": "user", "parts": [data["prompt"]]}]}
    elif isinstance(data.get("messages"), list):
        conversation = get_api("openai-chat").read_conversation({"messages": data["messages"]})
        yield {"turns": _turns(conversation)}
    yield from (_request(request["endpoint"], request) for request in requests_in(data))


def _request(endpoint: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    body, headers = read_body(entry.get("request")), entry.get("headers")
    method, _, target = endpoint.partition(" ")
    path = target.partition("?")[0]
    api = find_api(method, path)
    if api is not None:
        turns = _turns(api.read_conversation(body))
    else:
        # The API is not known: people read the question, if the snapshot has one.
        question = entry.get("question")
        turns = [{"role": "question", "parts": [question]}] if isinstance(question, str) else []
    # What a header says is a setting too.
    settings = [*_settings(headers), *_settings(body)]
    shown = {"endpoint": endpoint, "settings": settings, "tools": _tools(body), "turns": turns}
    return {key: value for key, value in shown.items() if value or key == "turns"}


def _settings(body: Any) -> list[list[str]]:
    """The settings of a request: its scalars, without the texts of the conversation."""
    if not isinstance(body, Mapping):
        return []
    groups = [body, *(body[group] for group in _SETTING_GROUPS if isinstance(body.get(group), Mapping))]
    return [
        [key, _scalar(value)]
        for group in groups
        for key, value in group.items()
        if isinstance(value, str | int | float | bool) and key not in _TEXTS
    ]


def _scalar(value: str | int | float | bool) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST_SETTING else f"{text[:_LONGEST_SETTING]}…"


def _tools(body: Any) -> list[str]:
    """The names of the tools that a request offers, in the shape of any API."""
    if not isinstance(body, Mapping):
        return []
    tools = body.get("tools")
    config = body.get("toolConfig")
    if tools is None and isinstance(config, Mapping):
        tools = config.get("tools")
    return [name for tool in (tools if isinstance(tools, list) else ()) for name in _tool_names(tool)]


def _tool_names(tool: Any) -> Iterator[str]:
    if not isinstance(tool, Mapping):
        return
    declarations = tool.get("functionDeclarations", tool.get("function_declarations"))
    if isinstance(declarations, list):
        for declaration in declarations:
            yield from _tool_names(declaration)
        return
    holders = (tool, *(tool[key] for key in ("function", "toolSpec", "custom") if isinstance(tool.get(key), Mapping)))
    names = [holder["name"] for holder in holders if isinstance(holder.get("name"), str)]
    kind = tool.get("type")
    yield from names[:1] or ([kind] if isinstance(kind, str) else [])


def _turns(conversation: Conversation) -> list[dict[str, Any]]:
    return [{"role": turn.role, "parts": [_part(part) for part in turn.parts]} for turn in conversation.turns]


def _part(part: Part) -> str | dict[str, Any]:
    match part:
        case str():
            return part
        case Thought():
            return {"kind": "thought", "text": part.text}
        case ConversationToolCall():
            return {"kind": "call", "name": part.name, "id": part.id, "text": part.arguments}
        case ToolResult():
            return {"kind": "result", "name": part.name, "id": part.call_id, "parts": [_part(p) for p in part.parts]}
    return {"kind": "media", "text": str(part)}


# Of lines: so much is unpacked in a few hundredths of a second.
_PART_CHARACTERS: Final = 400_000


@dataclass(slots=True)
class PageTexts:
    """Collects the texts of the cases of a page, in the order of its index.

    Each part has `lines`, numbered on from the part before, and `cases`: for each text the ranges of its lines, a start
    and a length each.
    """

    parts: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _characters: int = 0

    def add(self, texts: Mapping[str, str]) -> None:
        """Add the texts of a case."""
        if not self.parts or self._characters > _PART_CHARACTERS:
            self.parts.append({"lines": [], "cases": []})
            self._characters = 0
        ranges = {name: self._ranges(text.split("\n")) for name, text in texts.items()}
        self.parts[-1]["cases"].append(ranges)

    def _ranges(self, lines: Iterable[str]) -> list[int]:
        ranges: list[int] = []
        following = -1
        for line in lines:
            number = self._numbers.get(line)
            if number is None:
                number = self._numbers[line] = len(self._numbers)
                self.parts[-1]["lines"].append(line)
                self._characters += len(line)
            if number == following:
                ranges[-1] += 1
            else:
                ranges += (number, 1)
            following = number + 1
        # A few characters more for each range, which is all that a case has if its lines are known.
        self._characters += 5 * len(ranges)
        return ranges


# Characters of JSON: so many are unpacked in a few hundredths of a second.
_BLOCK_CHARACTERS: Final = 400_000


@dataclass(frozen=True, slots=True)
class PageData:
    """What the script of the page reads."""

    index: str
    blocks: tuple[str, ...]
    texts: tuple[str, ...]


def page_data(run: RunResults, review: Review) -> PageData:
    """The data of a run."""
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
        if result.differs:
            body["accept"] = accept(run, [result])
    return {key: value for key, value in body.items() if value}


def _repeats(repeats: RepeatsResult) -> dict[str, Any]:
    fields = {"number", "outcome", "problem", "response"}
    attempts = [
        attempt.model_dump(include=fields) | {"checks": list(map(_check, attempt.checks))}
        for attempt in repeats.attempts
    ]
    return {"rate": describe_passes(repeats), "attempts": attempts}


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
