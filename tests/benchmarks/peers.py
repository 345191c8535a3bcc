"""Trivial cases for other tools: one message, and one check of the text that comes back.

Offline each tool uses its own way to echo the message. Live cases go to the stub of OpenAI's API, which answers `good`.
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
_LIVE_AGENT: Final = """
import os
import httpx
import pytest

@pytest.fixture
def llm_eval_agent():
    async def ask(history):
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        async with httpx.AsyncClient(timeout=60) as client:
            reply = await client.post(url, json={"model": "m", "messages": history})
        return reply.json()["choices"][0]["message"]["content"], []
    return ask
"""
_LIVE_TASK: Final = """
from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def bench():
    return Task(dataset=json_dataset("cases.jsonl"), solver=generate(), scorer=includes())
"""
_ANSWER: Final = "good"


def _question(number: int) -> str:
    return f"question number {number}"


def write_pytest_agent_eval(folder: Path, cases: int, *, is_live: bool = False) -> None:
    """Write one file for each case, as in the tool's documentation."""
    (folder / "pyproject.toml").write_text('[tool.agent_eval]\nyaml_dirs = ["evals"]\n', encoding="utf-8")
    (folder / "conftest.py").write_text(_LIVE_AGENT if is_live else _AGENT, encoding="utf-8")
    (folder / "evals").mkdir()
    for number in range(cases):
        turn = {
            "user": _question(number),
            "expect": {"reply_contains_all": [_ANSWER if is_live else _question(number)]},
        }
        case = json.dumps({"id": f"c{number}", "turns": [turn]})
        (folder / "evals" / f"c{number}.yaml").write_text(case, encoding="utf-8")


def write_inspect_ai(folder: Path, cases: int, *, is_live: bool = False) -> None:
    """Write one task, and its cases as lines of a JSON file."""
    (folder / "task.py").write_text(_LIVE_TASK if is_live else _TASK, encoding="utf-8")
    samples = (
        {"id": number, "input": _question(number), "target": _ANSWER if is_live else _question(number)}
        for number in range(cases)
    )
    (folder / "cases.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in samples), encoding="utf-8")


def write_promptfoo(folder: Path, cases: int, *, is_live: bool = False) -> None:
    """Write one configuration with all cases."""
    tests = [
        {
            "vars": {"question": _question(number)},
            "assert": [{"type": "contains", "value": _ANSWER if is_live else _question(number)}],
        }
        for number in range(cases)
    ]
    provider = "openai:chat:gpt-5.5" if is_live else "echo"
    config = {"prompts": ["{{question}}"], "providers": [provider], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
