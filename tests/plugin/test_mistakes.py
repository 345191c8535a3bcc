"""Mistakes in files, fixtures and options, each with the whole message that a run prints for it."""

from __future__ import annotations

import pytest

from .conftest import HELLO, Run

IMPORTS = "import pytest, httpx\nfrom pytest_chatprompt import *\n\n"


def fixture(name: str, body: str, head: str = "@pytest.fixture") -> str:
    return f"{IMPORTS}{head}\ndef {name}:\n    {body}\n"


def content(part: str) -> str:
    return f"evalcases:\n  - id: hello\n    input_messages:\n      - role: user\n        content: [{part}]\n"


def tool(provider: str, message: str) -> str:
    return (
        f"provider: {provider}\nevalcases:\n  - id: hello\n    input_messages:\n"
        f"      - {{role: user, content: x}}\n      - {message}\n"
    )


CALL = "{role: assistant, tool_calls: [{id: c, function: {name: f, arguments: '%s'}}]}"


@pytest.mark.parametrize(
    ("files", "arguments", "outcome", "told"),
    [
        # Files that a case names.
        pytest.param(
            {"a.eval.yaml": content("{type: file, value: gone.md}")},
            [],
            "errors",
            "a.eval.yaml:5:39: case 'hello': file gone.md not found; tried gone.md",
            id="a file that is not there",
        ),
        pytest.param(
            {"a.eval.yaml": content("{type: file, value: .}")},
            [],
            "errors",
            "a.eval.yaml:5:39: case 'hello': file . is a folder; name a file in it",
            id="a folder in place of a file",
        ),
        pytest.param(
            {"a.eval.yaml": content("{type: file, value: /etc/passwd}")},
            [],
            "errors",
            "a.eval.yaml:5:39: case 'hello': file /etc/passwd not found; tried etc/passwd",
            id="a path of the machine",
        ),
        pytest.param(
            {"a.eval.yaml": content("{type: file, value: ../..}")},
            [],
            "errors",
            "a.eval.yaml:5:39: case 'hello': file ../.. lies outside of the root folder; only files below it can be sent,"
            " so copy it there",
            id="a path out of the project",
        ),
        pytest.param(
            {"a.eval.yaml": content("{type: text, value: ' '}")},
            [],
            "errors",
            "a.eval.yaml:4:7: case 'hello': nothing is left to send: no message has more than white space",
            id="nothing left to send",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, ".agentv/config.yaml": "guideline_patterns: 3\n"},
            [],
            "errors",
            ".agentv/config.yaml:1:21: 'guideline_patterns' must be a list of strings",
            id="settings of AgentV that cannot be read",
        ),
        pytest.param(
            {"a.eval.yaml": "guideline_patterns: ['{1..5000}.md']\n" + content("{type: file, value: x}"), "x": "x"},
            [],
            "errors",
            "a.eval.yaml:3:5: case 'hello': the guideline pattern '{1..5000}.md' cannot be matched: Pattern limit exceeded the limit of 1000",
            id="a pattern that unfolds without end",
        ),
        # What an API cannot hold.
        pytest.param(
            {"a.eval.yaml": tool("anthropic", "{role: tool, tool_call_id: c, content: x}")},
            [],
            "failed",
            "a.eval.yaml:6:9: case 'hello': message 2: it answers the call 'c', and there is no call before it; put the assistant message that makes the call in front of it",
            id="a result without its call",
        ),
        pytest.param(
            {"a.eval.yaml": tool("gemini", "{role: tool, content: x}")},
            [],
            "failed",
            "a.eval.yaml:6:9: case 'hello': message 2: a tool message without 'tool_call_id'; name the call that it answers",
            id="a result without an id",
        ),
        pytest.param(
            {"a.eval.yaml": tool("gemini", CALL % "[1]")},
            [],
            "failed",
            "a.eval.yaml:6:9: case 'hello': message 2: the arguments of the tool call 'c' are no JSON object: '[[]1[]]'; write one, such as '{}'",
            id="arguments that are no object",
        ),
        pytest.param(
            {"a.eval.yaml": "provider: anthropic\nevalcases:\n  - id: hello\n    input_messages: [{role: system, content: x}]\n"},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': Anthropic needs a turn, and only a system message is left;"
            " give the case a user message with content of its own",
            id="no turn",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO.replace("content: hello", r'content: "\uD83D"')},
            [],
            "errors",
            "a.eval.yaml:*: this is no YAML: *",
            id="half a character",
        ),
        # Providers and fixtures.
        pytest.param(
            {"a.eval.yaml": "provider: opena1" + HELLO},
            [],
            "errors",
            "a.eval.yaml:3:5: case 'hello': unknown provider 'opena1': no fixture 'opena1_provider' can be asked for;"
            " did you mean 'openai'? The providers here are anthropic, azure, cli, codex, gemini, openai, vscode",
            id="a provider misspelt",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO},
            ["--chatprompt-provider", "zzz"],
            "errors",
            "a.eval.yaml:3:5: case 'hello': unknown provider 'zzz': no fixture 'zzz_provider' can be asked for;"
            " The providers here are anthropic, azure, cli, codex, gemini, openai, vscode",
            id="an option that names no provider",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": fixture("azure_provider()", "return 3")},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': the provider is int 3, which has no send(request)",
            id="a fixture that gives no provider",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": fixture("azure_provider()", "return GeminiProvider")},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': the provider is the class GeminiProvider; make one of it: GeminiProvider(...)",
            id="a class in place of a provider",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": fixture("azure_provider()", "return lambda request: 'hi'")},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': the provider gave back str, which is no ProviderResponse",
            id="a provider that gives back text",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": fixture("azure_provider()", "return AzureProvider(temprature=1)")},
            [],
            "errors",
            "E       TypeError: AzureProvider has no setting 'temprature'; did you mean 'temperature'?",
            id="a setting misspelt",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": fixture("azure_provider()", "return lambda _: httpx.put('https://x.example/y')")},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': nothing answers PUT https://x.example/y offline; give the fixture eval_api a route for it, as in",
            id="a request without a route",
        ),
        pytest.param(
            {
                "a.eval.yaml": HELLO,
                "conftest.py": fixture("azure_provider()", "import socket; return lambda _: socket.create_connection(('x.example', 1))"),
            },
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': the provider reached for x.example:1 with a client that is not httpx, and offline nothing"
            " may leave this machine; send through an httpx client, so that eval_api can answer it",
            id="a client that is not httpx",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO.replace("id: hello", "id: hello\n    tags: [skipif]")},
            [],
            "errors",
            "a.eval.yaml:4:11: case 'hello': the tag 'skipif' is a marker that takes arguments, and a tag has none; call it something else",
            id="a tag that is a marker with arguments",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "a.eval.yml": HELLO.replace("hello", "b")},
            ["a.eval.yaml"],
            "errors",
            "a.eval.yaml: a.eval.yml would keep snapshots in the same folder, __snapshots__/a.eval; rename one of them",
            id="two files for one folder of snapshots",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_full(
    run: Run, files: dict[str, str], arguments: list[str], outcome: str, told: str
) -> None:
    run.write(files)
    result = run(*arguments)
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([told])
    assert "pytest_chatprompt/" not in result.stdout.str()
    assert run.snapshots() == []
