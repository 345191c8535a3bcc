"""Show people how what is sent now differs from the snapshot.

Two texts come in, the stored one and one written by `serializer`; a diff comes out. Each hunk is headed by its path in
the data (`request.messages[1].content`). Pure; `items.case_runner` calls it when a case fails.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

import yaml

from pytest_chatprompt.snapshots.serializer import dump

_CONTEXT_LINES: Final = 1
# A shorter diff is not worth comparing a second time with all blocks escaped.
_SHORT_DIFF_LINES: Final = 6
_MAX_DIFF_LINES: Final = 400


def diff_snapshots(stored: str, sent: str) -> str:
    """Compare two snapshots line by line.

    Args:
        stored: the text of the snapshot's file; it need not be valid YAML.
        sent: the text of what is sent now.

    Returns:
        Removed lines with `-`, added lines with `+`, each hunk under its path in the data, at most 400 lines;
        `""` for equal texts.
    """
    diff = _diff_lines(stored, sent)
    if len(diff) > _SHORT_DIFF_LINES:
        # The first invisible character in a block switches all of its lines to escapes. With every block escaped in
        # both texts, a change of one line is a diff of one line again.
        diff = min(diff, _diff_lines(_escape_blocks(stored), _escape_blocks(sent)), key=len)
    if len(diff) > _MAX_DIFF_LINES:
        diff[_MAX_DIFF_LINES:] = [f"... and {len(diff) - _MAX_DIFF_LINES} more lines"]
    return "\n".join(diff)


def _diff_lines(stored: str, sent: str) -> list[str]:
    before, after = _split_lines(stored), _split_lines(sent)
    paths = list(_paths_by_line(yaml.compose(sent), ""))
    lines: list[str] = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT_LINES):
        first_change = next(opcode for opcode in group if opcode[0] != "equal")
        lines.append(f"@@ {_path_at(first_change[3], paths)} @@")
        for tag, before_start, before_end, after_start, after_end in group:
            if tag == "equal":
                lines += [f"  {line}" for line in before[before_start:before_end]]
            else:
                lines += [f"- {line}" for line in before[before_start:before_end]]
                lines += [f"+ {line}" for line in after[after_start:after_end]]
    return lines


def _escape_blocks(text: str) -> str:
    """Write a snapshot again with every block escaped; text that is not a snapshot is returned unchanged."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return dump(data, escape_blocks=True) if isinstance(data, dict) else text


def _split_lines(text: str) -> list[str]:
    """The lines of a text, with a note if the last line break is missing, which an editor may have removed."""
    lines = text.split("\n")
    return lines[:-1] if text.endswith("\n") else [*lines, "(no line break at the end)"]


def _paths_by_line(node: yaml.Node | None, path: str) -> Iterator[tuple[int, str]]:
    """The 0-based line where each value of a document begins, and the path of the value, in order."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            value_path = f"{path}.{key.value}" if path else key.value
            yield key.start_mark.line, value_path
            yield from _paths_by_line(value, value_path)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield value.start_mark.line, f"{path}[{index}]"
            yield from _paths_by_line(value, f"{path}[{index}]")


def _path_at(line: int, paths: list[tuple[int, str]]) -> str:
    """The path of the innermost value that a line belongs to."""
    return next((path for start, path in reversed(paths) if start <= line), "")
