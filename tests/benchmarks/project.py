"""Writes a project with eval files of a given size."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_CHECKS: Final = """checks:
  - {type: contains, of: request, value: question number}
  - {type: not_icontains, of: request, value: as an ai}
  - {type: regex, of: request, value: "number \\\\d+"}
"""
_CONFTEST: Final = """
import os
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture(scope="session")
def openai_provider():
    url = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:9")
    provider = OpenAIProvider(base_url=url, api_key="k", max_retries=0)
    yield provider
    provider.close()
"""
_OVERRIDE: Final = """
@pytest.fixture(params={parameters})
def {name}({name}):
    yield {name}
"""


@dataclass(frozen=True)
class Project:
    """The size of a project.

    Args:
        cases: how many cases all files have together; 0 for a project with one ordinary test and no eval file.
        files: how many eval files there are.
        turns: how many messages a case has. User and assistant alternate, and the last message is the user's. An even
            number of messages begins with a system message.
        providers: the providers of each case; empty for the default.
        attachment_bytes: the size of one text file that every case attaches; 0 for no file.
        has_rows: whether the cases are the rows of a single one, in a dataset; only for cases of one turn in one file.
        has_checks: whether each case has three checks of what is sent.
        goes_live: whether `openai` sends to the server in `OPENAI_BASE_URL`.
        override: a fixture that such a project overrides by one that ends with each test; `""` for none.
        parameters: those of the override: with one, each case is one item all the same.
    """

    cases: int
    files: int = 1
    turns: int = 1
    providers: tuple[str, ...] = ()
    attachment_bytes: int = 0
    has_rows: bool = False
    has_checks: bool = False
    goes_live: bool = False
    override: str = ""
    parameters: tuple[str, ...] | None = None

    @property
    def items(self) -> int:
        """How many items pytest collects, the ordinary test included."""
        return self.cases * max(len(self.providers), 1) or 1

    def write(self, folder: Path) -> None:
        """Write the project into a folder that exists."""
        (folder / "pytest.ini").write_text("[pytest]\nmarkers = half\n", encoding="utf-8")
        if not self.cases:
            (folder / "test_one.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
        if self.goes_live:
            override = _OVERRIDE.format(name=self.override, parameters=self.parameters) if self.override else ""
            (folder / "conftest.py").write_text(f"{_CONFTEST}{override}", encoding="utf-8")
        if self.attachment_bytes:
            line = "what is written in the document that all cases attach\n"
            text = line * (self.attachment_bytes // len(line))
            (folder / "document.txt").write_text(text, encoding="utf-8")
        if self.has_rows:
            self._write_rows(folder)
            return
        for file in range(self.files if self.cases else 0):
            # JSON is YAML too, and for so small a case one line is enough.
            lines = (f"  - {json.dumps(self._case(number))}\n" for number in range(file, self.cases, self.files))
            path = folder / f"f{file}.eval.yaml"
            head = f"provider: openai\n{_CHECKS if self.has_checks else ''}"
            path.write_text(f"{head}evalcases:\n{''.join(lines)}", encoding="utf-8")

    def _write_rows(self, folder: Path) -> None:
        rows = (json.dumps({"id": f"c{number}", "number": number}) for number in range(self.cases))
        (folder / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
        message = {"role": "user", "content": "question number {{ number }}, turn 0"}
        case = {"id": "c", "parametrize": "rows.jsonl", "input_messages": [message]}
        (folder / "f0.eval.yaml").write_text(
            f"provider: openai\nevalcases:\n  - {json.dumps(case)}\n", encoding="utf-8"
        )

    def _case(self, number: int) -> dict[str, Any]:
        roles = ["system"] * (self.turns % 2 == 0) + ["user", "assistant"] * self.turns
        messages: list[Any] = [
            {"role": roles[turn], "content": f"question number {number}, turn {turn}"} for turn in range(self.turns)
        ]
        if self.attachment_bytes:
            text = {"type": "text", "value": messages[-1]["content"]}
            messages[-1]["content"] = [text, {"type": "file", "value": "document.txt"}]
        case: dict[str, Any] = {"id": f"c{number}"}
        if self.providers:
            case["provider"] = list(self.providers)
        # Every second case of each file has this tag.
        if number // self.files % 2 == 0:
            case["tags"] = ["half"]
        return {**case, "input_messages": messages}
