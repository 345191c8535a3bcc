"""A file of another tool, written in our own format, with the comments above its first line and above its cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from pytest_chatprompt.cases.loader import read_document, translate
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.wording import shown_path


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as it reads, and names what is written once and meant several times."""

    def generate_anchor(self, node: Any) -> str:
        del node
        self.last_anchor_id += 1
        return f"messages-{self.last_anchor_id}"


def _write_text(dumper: _Dumper, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _write_text)


def convert(path: Path, root: Path, tell: Callable[[str], object]) -> str:
    """Write a file in our own format; `tell` gets a line about each thing that has no effect."""

    def warn(diagnostic: Diagnostic) -> None:
        tell(f"{diagnostic}\n")

    text, document = read_document(path, root)
    translation = None if document.find_entry(("evalcases",)) else translate(path, root, document, warn)
    if translation is None:
        problem = "this is no file of another tool; there is nothing to convert"
        raise EvalFileError([Diagnostic(shown_path(path, root), 1, 1, problem)])
    # The keys that nobody sees otherwise are the cases' own.
    cases = translation.document.find(("evalcases",)).value
    written = iter(yaml.dump(_shared(translation.document.data()), Dumper=_Dumper, **_STYLE).split("\n"))
    return "\n".join(_with_comments(written, text.split("\n"), [case.position.line for case in cases]))


_STYLE: Any = {"allow_unicode": True, "sort_keys": False, "width": 2**16}


def _shared(data: Any) -> Any:
    """The data with equal messages of its cases as one list, which is written once."""
    known: dict[str, Any] = {}
    for case in data["evalcases"]:
        case["input_messages"] = known.setdefault(json.dumps(case["input_messages"]), case["input_messages"])
    return data


def _with_comments(written: Iterator[str], source: list[str], lines: list[int]) -> Iterator[str]:
    """The lines of a converted file, with the comments of the source above its first line and above its cases."""
    yield from _comments_above(source, next((at for at, line in enumerate(source) if not line.startswith("#")), 0))
    remaining = iter(lines)
    for line in written:
        if line.startswith("- id: "):
            yield from _comments_above(source, next(remaining) - 1)
        yield line


def _comments_above(source: list[str], index: int) -> list[str]:
    """The comments right above a line, each once."""
    begin = index
    while begin and source[begin - 1].lstrip().startswith("#"):
        begin -= 1
    comments = [line.strip() for line in source[begin:index] if "yaml-language-server" not in line]
    # What comes of the same line has them no more.
    source[begin:index] = [""] * (index - begin)
    return comments
