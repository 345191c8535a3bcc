"""Trivial cases for other tools: one message, and one check that the same text comes back.

No tool calls a model: each uses its own way to echo the message.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

_AGENT: Final = """
import pytest

async def echo(history):
    return history[-1]["content"], []

@pytest.fixture
def llm_eval_agent():
    return echo
"""
# Without `usage` the mock model would count tokens, and download a tokenizer for that.
_TASK: Final = """
from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

def echo(messages, tools, tool_choice, config):
    output = ModelOutput.from_content("mockllm/model", messages[-1].text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

@task
def bench():
    model = get_model("mockllm/model", custom_outputs=echo)
    return Task(dataset=json_dataset("cases.jsonl"), solver=generate(), scorer=includes(), model=model)
"""


def _question(number: int) -> str:
    return f"question number {number}"


def write_pytest_agent_eval(folder: Path, cases: int) -> None:
    """Write one file for each case, as in the tool's documentation."""
    (folder / "pyproject.toml").write_text('[tool.agent_eval]\nyaml_dirs = ["evals"]\n', encoding="utf-8")
    (folder / "conftest.py").write_text(_AGENT, encoding="utf-8")
    (folder / "evals").mkdir()
    for number in range(cases):
        turn = {"user": _question(number), "expect": {"reply_contains_all": [_question(number)]}}
        case = json.dumps({"id": f"c{number}", "turns": [turn]})
        (folder / "evals" / f"c{number}.yaml").write_text(case, encoding="utf-8")


def write_inspect_ai(folder: Path, cases: int) -> None:
    """Write one task, and its cases as lines of a JSON file."""
    (folder / "task.py").write_text(_TASK, encoding="utf-8")
    samples = ({"id": number, "input": _question(number), "target": _question(number)} for number in range(cases))
    (folder / "cases.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in samples), encoding="utf-8")


def write_promptfoo(folder: Path, cases: int) -> None:
    """Write one configuration with all cases."""
    tests = [
        {"vars": {"question": _question(number)}, "assert": [{"type": "contains", "value": _question(number)}]}
        for number in range(cases)
    ]
    config = {"prompts": ["{{question}}"], "providers": ["echo"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
