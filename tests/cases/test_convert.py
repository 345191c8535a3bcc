"""The tests of the conversion of other tools' files into eval files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt.__main__ import main

CONFIG = """# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json
# How we greet.

prompts:
  - "Greet {{ name }} with {{ words | join(', ') }}"
  - |
    Greet {{ name }},
    kindly,
providers: [openai:gpt-x, {id: anthropic:claude-x, config: {max_tokens: 9}}]
tests:
  # The first of them.
  # It has a description.
  - description: Ada
    vars: {name: Ada, words: [[a, b]]}
    assert: [{type: contains, value: "{{ name }}"}, {type: javascript, value: output}]
  - vars: {name: yes, words: [[a, b]]}
    # It is in quotes.
    assert: [{type: llm-rubric, value: Is kind}]
"""


def test_a_converted_file_has_the_comments_above_its_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("promptfooconfig.yaml").write_text(CONFIG, encoding="utf-8")
    assert main(["convert", "promptfooconfig.yaml"]) == 0
    assert (
        capsys.readouterr().out
        == """\
# How we greet.
provider:
- openai:gpt-x
- anthropic:claude-x
metadata:
  systemPrompt: ''
settings:
  anthropic:claude-x:
    max_output_tokens: 9
evalcases:
# The first of them.
# It has a description.
- id: Ada (prompt-1)
  checks:
  - type: contains
    value: Ada
  evaluators:
  - type: javascript
    value: output
  input_messages:
  - role: user
    content: Greet Ada with a,b
- id: Ada (prompt-2)
  vars:
    name: Ada
    words:
    - - a
      - b
  checks:
  - type: contains
    value: '{{ name }}'
  evaluators:
  - type: javascript
    value: output
  input_messages: &messages-1
  - role: user
    content: |
      Greet {{ name }},
      kindly,
- id: test-2 (prompt-1)
  checks:
  - type: llm-rubric
    value: Is kind
  input_messages:
  - role: user
    content: Greet yes with a,b
- id: test-2 (prompt-2)
  vars:
    name: 'yes'
    words:
    - - a
      - b
  checks:
  - type: llm-rubric
    value: Is kind
  input_messages: *messages-1
"""
    )


@pytest.mark.parametrize(
    ("name", "text", "converted"),
    [
        (
            "a.yaml",
            "tests:\n# First\n- id: a\n  input: Hi\n",
            "# First\n- id: a\n  input_messages:\n  - role: user\n    content: Hi\n",
        ),
        ("a.jsonl", '{"id": "a", "input": "Hi"}\n', "- id: a\n  input_messages:\n  - role: user\n    content: Hi\n"),
        (
            "evals.json",
            '{"evals": [{"id": 1, "prompt": "Hi"}]}',
            "- id: '1'\n  input_messages:\n  - role: user\n    content: Hi\n",
        ),
    ],
)
def test_files_of_agentv_and_agent_skills_are_converted_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, converted: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert main(["convert", str(tmp_path / name)]) == 0
    assert capsys.readouterr().out.endswith(f"evalcases:\n{converted}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("evalcases: []", "error: a.yaml:1:1: this is no file of another tool; there is nothing to convert\n"),
        ("[]", "error: a.yaml:1:1: this is no file of another tool; there is nothing to convert\n"),
        ("a: 1", "error: a.yaml:1:1: this is no file of another tool; there is nothing to convert\n"),
        (
            "prompts: [file://b.txt]\nproviders: echo",
            "error: a.yaml:1:11: file b.txt not found; tried b.txt\n",
        ),
    ],
)
def test_what_cannot_be_converted_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert main(["convert", str(tmp_path / "a.yaml")]) == 2
    assert capsys.readouterr().err == message
