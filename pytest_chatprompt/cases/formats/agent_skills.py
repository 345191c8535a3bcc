"""Agent Skills: `evals.json`, the tests of a skill.

Source: https://agentskills.io/skill-creation/evaluating-skills. Anthropic's skill-creator writes `expectations` for
`assertions`.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.cases.formats.foreign_file import ForeignFile, Translation, make_node
from pytest_chatprompt.text.yaml import Node

_FILE: Final = ("evals",)
_CASE: Final = ("id", "name", "prompt", "expected_output", "files", "assertions", "expectations")


def translate(file: ForeignFile) -> Translation:
    """Translate a file: each of its evals becomes a case that sends its prompt and its files."""
    entries = file.known_entries(file.document, "evals.json", _FILE, ("skill_name", "skill", "version"))
    cases = [_case(file, number, node) for number, node in enumerate(entries["evals"].value, start=1)]
    return Translation(make_node({"evalcases": cases}, file.document))


def _case(file: ForeignFile, number: int, node: Node) -> Node:
    if not isinstance(node.value, dict) or "prompt" not in node.value:
        file.reject(node, "an eval must be a mapping with the key 'prompt'")
        return node
    entries = file.known_entries(node, "an eval", _CASE, ("notes",))
    written = entries.get("name") or entries.get("id")
    case: dict[str, Any] = {"id": make_node(written.text if written else f"eval-{number}", written or node)}
    files = entries.get("files")
    parts = [{"type": "file", "value": each} for each in (files.value if files and files.value else ())]
    content = [{"type": "text", "value": entries["prompt"]}, *parts] if parts else entries["prompt"]
    case["input_messages"] = [{"role": "user", "content": content}]
    if "expected_output" in entries:
        case["outcome"] = entries["expected_output"]
    checks = [
        {"type": "llm_rubric", "value": each}
        for key in ("assertions", "expectations")
        for each in (entries[key].value if key in entries and entries[key].value else ())
    ]
    if checks:
        case["checks"] = checks
    return make_node(case, node)
