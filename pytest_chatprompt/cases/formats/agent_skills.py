"""Agent Skills: `evals.json`, the tests of a skill.

Source: https://agentskills.io/skill-creation/evaluating-skills. Anthropic's skill-creator writes `expectations` for
`assertions`, and lists of queries that only say whether a skill triggers.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from pytest_chatprompt.cases.formats.foreign_file import ForeignFile, Translation, items_of
from pytest_chatprompt.text.media_types import NAMED_DOCUMENTS, kind_of_media_type, media_type_of_url
from pytest_chatprompt.text.yaml import Node, make_node

_ANSWER: Final = ("expected_output", "assertions", "expectations")
_SILENT: Final = ("skill_name", "skill", "version", "description", "notes")


def translate(file: ForeignFile) -> Translation:
    """Translate a file, a mapping or a list: each of its evals becomes a case that sends its prompt and its files."""
    is_list = isinstance(file.document.value, tuple)
    top = {} if is_list else file.known_entries(file.document, "evals.json", ("evals",), _SILENT)
    nodes = file.document.value if is_list else top["evals"].value
    if nodes and all(each.find_entry(("should_trigger",)) for each in nodes) and not any(map(_has_answer, nodes)):
        text = "these queries ask whether a skill triggers, not what it answers"
        file.reject(nodes[0], f"{text}; leave the file out of chatprompt_files")
    cases = [_case(file, number, node) for number, node in enumerate(nodes, start=1)]
    return Translation(make_node({"evalcases": cases}, file.document))


def _has_answer(node: Node) -> bool:
    return any(node.find_entry((key,)) for key in _ANSWER)


def _case(file: ForeignFile, number: int, node: Node) -> Node:
    entries = file.known_entries(node, "an eval", ("id", "name", "prompt", "query", "files", *_ANSWER), _SILENT)
    prompt = entries.get("prompt") or entries.get("query")
    if prompt is None:
        file.reject(node, "an eval must be a mapping with the key 'prompt'")
        return node
    written = next((entries[key] for key in ("name", "id") if key in entries and entries[key].value is not None), None)
    case: dict[str, Any] = {"id": make_node(written.text if written else f"eval-{number}", written or node)}
    parts = [make_node({"type": _part_type(each.text), "value": each}, each) for each in items_of(entries.get("files"))]
    content = [{"type": "text", "value": prompt}, *parts] if parts else prompt
    case["input_messages"] = [{"role": "user", "content": content}]
    if "expected_output" in entries:
        case["outcome"] = entries["expected_output"]
    checks = [
        make_node({"type": "llm_rubric", "value": each.find(("text",))}, each)
        for key in ("assertions", "expectations")
        for each in items_of(entries.get(key))
    ]
    if checks:
        case["checks"] = checks
    return make_node(case, node)


def _part_type(name: str) -> str:
    """How a file is sent: as the media that its name says, else as text."""
    _, signature = NAMED_DOCUMENTS.get(PurePosixPath(name).suffix.lower(), ("", b""))
    return "document" if signature else kind_of_media_type(media_type_of_url(quote(name))) or "file"
