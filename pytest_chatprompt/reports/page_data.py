"""The data of the page: what its script reads, as compressed JSON.

The page unpacks the index of all cases at once, and a block of cases when it opens or searches one of them.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_chatprompt.apis.conversation import ConversationToolCall, ConversationTurn, Part, Thought, as_mapping
from pytest_chatprompt.apis.table import get_api
from pytest_chatprompt.grading.check import verdict_word
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.reports.answers import answer_facts, called_tools
from pytest_chatprompt.reports.compare import CaseComparison, RunComparison, payload
from pytest_chatprompt.reports.review import Review
from pytest_chatprompt.reports.run_commands import accept
from pytest_chatprompt.results.records import CaseResult, CheckResult, RepeatsResult, ResponseResult, RunResults
from pytest_chatprompt.results.wording import describe_passes
from pytest_chatprompt.snapshots.changes import Change, requests_in
from pytest_chatprompt.snapshots.layout import visible_line
from pytest_chatprompt.snapshots.story import StoryRequest, parting_hint, read_story
from pytest_chatprompt.wording import cut

# Where APIs have settings of a request beside those at the top.
_SETTING_GROUPS: Final = ("generationConfig", "inferenceConfig", "options")
# Texts of the conversation, which its turns show.
_TEXTS: Final = frozenset({"system", "instructions", "input", "prompt", "message"})
# Under which tools of some APIs have one or several functions.
_TOOL_KEYS: Final = ("function", "toolSpec", "custom", "functionDeclarations", "function_declarations")
_LONGEST_SETTING: Final = 81
_LONGEST_ANSWER: Final = 160


def page_requests(data: Any) -> list[dict[str, Any]]:
    """The requests that a snapshot of any shape shows, each with its turns; those to a judge come last."""
    asked = as_mapping(data).get("judge")
    to_judge = [
        request for entry in (asked if isinstance(asked, list) else ()) for request in _requests(as_mapping(entry))
    ]
    for request in to_judge:
        request["endpoint"] = ": ".join(filter(None, ("to the judge", request.get("endpoint"))))
    return [*_requests(as_mapping(data)), *to_judge]


def _requests(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if isinstance(data.get("prompt"), str) and "argv" in data:
        yield {"endpoint": "prompt of the agent", "turns": [{"role": "user", "parts": [data["prompt"]]}]}
    elif isinstance(data.get("messages"), list):
        conversation = get_api("openai-chat").read_conversation({"messages": data["messages"]})
        yield {"turns": _turns(conversation.turns)}
    yield from map(_request, requests_in(data).values(), read_story(data))


def _request(entry: Mapping[str, Any], told: StoryRequest) -> dict[str, Any]:
    body, headers = read_body(entry.get("request")), entry.get("headers")
    if told.turns is not None:
        turns = _turns(told.turns)
    else:
        # The API is not known: people read the question, if the snapshot has one.
        question = entry.get("question")
        turns = [{"role": "question", "parts": [question]}] if isinstance(question, str) else []
    tools = as_mapping(body).get("tools", as_mapping(as_mapping(body).get("toolConfig")).get("tools"))
    # What a header says is a setting too.
    settings = [*_settings(headers), *_settings(body)]
    shown = {"endpoint": entry["endpoint"], "settings": settings, "tools": list(_tool_names(tools)), "turns": turns}
    shown |= {"kept": told.kept, "earlier": told.earlier}
    return {key: value for key, value in shown.items() if value or key == "turns"}


def _settings(body: Any) -> list[list[str]]:
    """The settings of a request: its scalars, without the texts of the conversation."""
    groups = [as_mapping(body), *(as_mapping(as_mapping(body).get(group)) for group in _SETTING_GROUPS)]
    return [
        [key, cut(str(value).lower() if isinstance(value, bool) else str(value), _LONGEST_SETTING)]
        for group in groups
        for key, value in group.items()
        if isinstance(value, str | int | float | bool) and key not in _TEXTS
    ]


def _tool_names(tools: Any) -> Iterator[str]:
    """The names of the tools that a request offers, in the shape of any API; of one without a name its type."""
    for tool in map(as_mapping, tools if isinstance(tools, list) else [tools]):
        inner = next((tool[key] for key in _TOOL_KEYS if key in tool), None)
        name = tool.get("name", tool.get("type"))
        if isinstance(inner, list | Mapping):
            yield from _tool_names(inner)
        elif isinstance(name, str):
            yield name


def _turns(turns: Sequence[ConversationTurn]) -> list[dict[str, Any]]:
    return [{"role": turn.role, "parts": _parts(turn)} for turn in turns]


def _parts(turn: ConversationTurn) -> list[str | dict[str, Any]]:
    parts = [_part(part) for part in turn.parts]
    result = {"kind": "result", "name": turn.name, "id": turn.call_id, "parts": parts}
    return parts if turn.call_id is None else [result]


def _part(part: Part) -> str | dict[str, Any]:
    match part:
        case str():
            return part
        case Thought():
            return {"kind": "thought", "text": part.text}
        case ConversationToolCall():
            return {"kind": "call", "name": part.name, "id": part.id, "text": part.arguments}
    return {"kind": "media", "text": str(part)}


# Characters of JSON: so many are unpacked in a few hundredths of a second.
_BLOCK_CHARACTERS: Final = 400_000


def page_data(run: RunResults, review: Review, comparison: RunComparison | None = None) -> tuple[str, list[str]]:
    """The index of all changes and cases, and the blocks of what the page shows of each case."""
    compared = {} if comparison is None else {case.after.node_id: case for case in comparison.cases}
    numbers = {distinct.change.content: number for number, distinct in enumerate(review.changes)}
    entries: list[dict[str, Any]] = []
    blocks: list[list[str]] = [[]]
    size = 0
    for result in run.results:
        case = compared.get(result.node_id)
        body = _dumped(_body(run, result, case))
        size += len(body)
        if blocks[-1] and size > _BLOCK_CHARACTERS:
            blocks.append([])
            size = len(body)
        entry = _entry(result, numbers)
        if comparison is not None:
            entry |= {"kind": "new"} if case is None else {"kind": case.kind, "answers": case.answers}
        entries.append(entry | {"block": len(blocks) - 1, "at": len(blocks[-1])})
        blocks[-1].append(body)
    changes = [{"id": distinct.id, **_change(distinct.change)} for distinct in review.changes]
    index = {"changes": changes, "cases": entries}
    return _packed(_dumped(index)), [_packed(f"[{','.join(bodies)}]") for bodies in blocks]


def _dumped(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))


def _packed(text: str) -> str:
    """Text as base64 of gzip. It is ASCII: JSON escapes everything else, half surrogates too."""
    return base64.b64encode(gzip.compress(text.encode("ascii"), compresslevel=6, mtime=0)).decode("ascii")


def _change(change: Change) -> dict[str, str]:
    """The lines of a change, as the page shows them."""
    return {side: "\n".join(map(visible_line, lines)) for side, lines in change.sides.items() if lines}


def _entry(result: CaseResult, numbers: Mapping[Any, int]) -> dict[str, Any]:
    """The line of a case: what the list shows and filters by."""
    snapshot = result.snapshot
    contents = {change.content for each in result.by_snapshot for change in each.difference.changes}
    entry = {
        "id": result.node_id,
        "case": result.case_id or "",
        "path": result.path,
        "line": result.line,
        "provider": result.provider or "",
        "outcome": result.outcome,
        "state": "" if snapshot is None else snapshot.state,
        "renamed": ("" if snapshot is None else snapshot.renamed_from) or "",
        "changes": sorted(numbers[each] for each in contents if each in numbers),
        "answer": "" if result.response is None else _first_words(result.response),
        "facts": ", ".join(_facts(result)),
    }
    return {key: value for key, value in entry.items() if value not in ("", [])}


def _first_words(response: ResponseResult) -> str:
    """The beginning of an answer."""
    return cut(" ".join((response.text or " ".join(called_tools(response))).split()), _LONGEST_ANSWER)


def _facts(result: CaseResult) -> Iterator[str]:
    """How many answers and checks passed, and what the first answer took."""
    if result.repeats is not None:
        yield f"{result.repeats.passed}/{result.repeats.answers} answers"
    if checks := result.all_checks:
        yield f"{sum(check.passed is True for check in checks)}/{len(checks)} checks"
    if result.response is not None:
        yield from (fact for fact in answer_facts(result.response) if "token" not in fact)


def _body(run: RunResults, result: CaseResult, compared: CaseComparison | None) -> dict[str, Any]:
    """What the page shows of a case that is opened, beside what an earlier run got."""
    snapshot = result.snapshot
    body = {"findings": list(result.findings), "adjustments": list(result.adjustments), **_answers(result)}
    if compared is not None:
        body["before"] = _answers(compared.before) | {"outcome": compared.before.outcome}
        # Of two versions the change is what the answers come of.
        body["is_change_first"] = run.ab is not None
    sides = _sides(result)
    for name, data in sides.items():
        body[name] = {"requests": page_requests(data), "payload": payload(data)}
    body |= result.model_dump(include={"parts"})
    body["parting"] = parting_hint(*sides.values()) if len(sides) > 1 else ""
    if snapshot is not None:
        body |= {"snapshot": snapshot.path}
        if result.differs:
            body["accept"] = accept(run, [result])
    return {key: value for key, value in body.items() if value}


def _answers(result: CaseResult) -> dict[str, Any]:
    answers = {
        "checks": [_check(check) for check in result.checks],
        "repeats": None if result.repeats is None else _repeats(result.repeats),
        # An application may ask several times.
        **result.model_dump(include={"response", "error", *(["answers"] if len(result.answers) > 1 else [])}),
    }
    return {key: value for key, value in answers.items() if value}


def _repeats(repeats: RepeatsResult) -> dict[str, Any]:
    fields = {"number", "outcome", "problem", "response"}
    attempts = [each.model_dump(include=fields) | {"checks": [*map(_check, each.checks)]} for each in repeats.attempts]
    return {"rate": describe_passes(repeats), "attempts": attempts}


def _check(check: CheckResult) -> dict[str, Any]:
    noun = "" if check.passed is None else f"the {check.of} "
    return {
        "verdict": verdict_word(check.passed),
        "text": check.description,
        "reason": f"{noun}{check.reason}",
        "place": check.place,
    }


def _sides(result: CaseResult) -> dict[str, Any]:
    """What a case sent, and what its snapshot has stored, as far as it was kept."""
    sides = {"stored": None if result.snapshot is None else result.snapshot.stored, "sent": result.sent}
    return {name: data for name, data in sides.items() if data}
