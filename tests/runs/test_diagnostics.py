"""Problems in files, fixtures and options, each with the whole message that the run prints for it."""

from __future__ import annotations

import pytest

from pytest_chatprompt.apis.table import PROVIDERS
from tests.runs.conftest import HELLO, Run

IMPORTS = "import pytest, httpx\nfrom pytest_chatprompt import *\n\n"


def conftest(name: str, body: str, head: str = "@pytest.fixture") -> str:
    return f"{IMPORTS}{head}\ndef {name}:\n    {body}\n"


def file_with_part(part: str) -> str:
    return f"evalcases:\n  - id: hello\n    input_messages:\n      - role: user\n        content: [{part}]\n"


def file_with_tools(provider: str, message: str) -> str:
    return (
        f"provider: {provider}\nevalcases:\n  - id: hello\n    input_messages:\n"
        f"      - {{role: user, content: x}}\n      - {message}\n"
    )


CALL = "{role: assistant, tool_calls: [{id: c, function: {name: f, arguments: '%s'}}]}"


@pytest.mark.parametrize(
    ("files", "arguments", "outcome", "message"),
    [
        # Files that a case names.
        pytest.param(
            {"a.eval.yaml": file_with_part("{type: file, value: gone.md}")},
            [],
            "errors",
            "a.eval.yaml:5:39: case 'hello': file gone.md not found; tried gone.md",
            id="a missing file",
        ),
        pytest.param(
            {"a.eval.yaml": file_with_part("{type: file, value: .}")},
            [],
            "errors",
            "a.eval.yaml:5:39: case 'hello': file . is a folder; name a file in it",
            id="a folder instead of a file",
        ),
        pytest.param(
            {"a.eval.yaml": file_with_part("{type: file, value: /etc/passwd}")},
            [],
            "errors",
            "a.eval.yaml:5:39: case 'hello': file /etc/passwd not found; tried etc/passwd",
            id="an absolute path of the machine",
        ),
        pytest.param(
            {"a.eval.yaml": file_with_part("{type: file, value: ../..}")},
            [],
            "errors",
            "a.eval.yaml:5:39: case 'hello': file ../.. is outside the root folder; only files inside it can be sent,"
            " so copy it there",
            id="a path that leaves the project",
        ),
        pytest.param(
            {"a.eval.yaml": file_with_part("{type: text, value: ' '}")},
            [],
            "errors",
            "a.eval.yaml:4:7: case 'hello': nothing to send: no message contains more than white space",
            id="nothing to send",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, ".agentv/config.yaml": "guideline_patterns: 3\n"},
            [],
            "errors",
            ".agentv/config.yaml:1:21: 'guideline_patterns' must be a list, but is the number 3",
            id="invalid settings of AgentV",
        ),
        pytest.param(
            {"a.eval.yaml": "guideline_patterns: ['{1..5000}.md']\n" + file_with_part("{type: file, value: x}"), "x": "x"},
            [],
            "errors",
            "a.eval.yaml:3:5: case 'hello': invalid guideline pattern '{1..5000}.md': Pattern limit exceeded the limit of 1000",
            id="a pattern that expands to too many",
        ),
        # Messages that the API cannot represent.
        pytest.param(
            {"a.eval.yaml": file_with_tools("anthropic", "{role: tool, tool_call_id: c, content: x}")},
            [],
            "failed",
            "a.eval.yaml:6:9: case 'hello': message 2: it answers the call 'c', but no call comes before it; put the assistant message that makes the call before it",
            id="a tool result without its call",
        ),
        pytest.param(
            {"a.eval.yaml": file_with_tools("gemini", "{role: tool, content: x}")},
            [],
            "failed",
            "a.eval.yaml:6:9: case 'hello': message 2: a tool message without 'tool_call_id'; name the call that it answers",
            id="a tool result without an id",
        ),
        pytest.param(
            {"a.eval.yaml": file_with_tools("gemini", CALL % "[1]")},
            [],
            "failed",
            "a.eval.yaml:6:9: case 'hello': message 2: the arguments of the tool call 'c' are not a JSON object: '[[]1[]]'; write one, such as '{}'",
            id="arguments that are not an object",
        ),
        pytest.param(
            {"a.eval.yaml": "provider: anthropic\nevalcases:\n  - id: hello\n    input_messages: [{role: system, content: x}]\n"},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': Anthropic needs a message besides the system message;"
            " add a user message with content of its own",
            id="only a system message",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO.replace("content: hello", r'content: "\uD83D"')},
            [],
            "errors",
            r"a.eval.yaml:*: \ud83d is not a whole character; write the character itself",
            id="half of a surrogate pair",
        ),
        # Providers and fixtures.
        pytest.param(
            {"a.eval.yaml": "provider: opena1" + HELLO},
            [],
            "errors",
            "a.eval.yaml:1:11: case 'hello': unknown provider 'opena1': there is no fixture 'opena1_provider',"
            f" only those of {', '.join(sorted(PROVIDERS))}; did you mean 'openai'?",
            id="a misspelled provider",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO},
            ["--chatprompt-provider", "zzz"],
            "errors",
            "a.eval.yaml:3:5: case 'hello': unknown provider 'zzz' (from --chatprompt-provider): there is no fixture 'zzz_provider',"
            f" only those of {', '.join(sorted(PROVIDERS))}; write it in a conftest.py, to return an object with "
            "send(request), or a function",
            id="an unknown provider in the option",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": conftest("openai_provider()", "return 3")},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': the provider is int 3, which has no send(request)",
            id="a fixture that does not return a provider",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": conftest("openai_provider()", "OpenAIProvider(model='x')")},
            [],
            "errors",
            "a.eval.yaml:3:5: case 'hello': the fixture 'openai_provider' returns None; return a provider from it",
            id="a fixture without a return",
        ),
        pytest.param(
            {"a.eval.yaml": "provider: openai:gpt-5-mini" + HELLO, "conftest.py": conftest("openai_provider()", "OpenAIProvider(model='x')")},
            [],
            "errors",
            "a.eval.yaml:3:5: case 'hello': the fixture 'openai_provider' returns None; return a provider from it",
            id="a fixture without a return whose variant is named",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": conftest("openai_provider()", "return GeminiProvider")},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': the provider is the class GeminiProvider; make an instance of it: GeminiProvider(...)",
            id="a class instead of a provider",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": conftest("openai_provider()", "return lambda request: 42")},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': the provider returned int, not a ProviderResponse or a str",
            id="a provider that returns a number",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": conftest("openai_provider()", "return AzureProvider(temprature=1)")},
            [],
            "errors",
            "E       TypeError: AzureProvider has no setting 'temprature' (did you mean 'temperature'?); its settings are api_key, api_version, deployment, endpoint, extra_body, max_output_tokens, max_retries, max_tokens_parameter, model_limits, price, reasoning_effort, requests_per_minute, seed, stop, temperature, timeout_seconds, tokens_per_minute, top_p, total_timeout_seconds",
            id="a misspelled setting",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "conftest.py": conftest("openai_provider()", "return lambda _: httpx.put('https://x.example/y')")},
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': nothing answers PUT https://x.example/y offline; give the fixture eval_api a route for it, as in",
            id="a request without a route",
        ),
        pytest.param(
            {
                "a.eval.yaml": HELLO,
                "conftest.py": conftest("openai_provider()", "import socket; return lambda _: socket.create_connection(('x.example', 1))"),
            },
            [],
            "failed",
            "a.eval.yaml:3:5: case 'hello': the provider tried to connect to x.example:1 in a way that eval_api cannot answer, called at"
            " conftest.py:*; offline runs send nothing to the network",
            id="a socket",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO.replace("id: hello", "id: hello\n    tags: [skipif]")},
            [],
            "errors",
            "a.eval.yaml:4:11: case 'hello': the tag 'skipif' is a marker that takes arguments, and a tag has none; rename the tag",
            id="a tag that is a marker with arguments",
        ),
        pytest.param(
            {"a.eval.yaml": HELLO, "a.eval.yml": HELLO.replace("hello", "b")},
            ["a.eval.yaml"],
            "errors",
            "a.eval.yaml: a.eval.yml would keep snapshots in the same folder, __snapshots__/a.eval; rename one of them",
            id="two files that share a snapshot folder",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_whole_message(
    run: Run, files: dict[str, str], arguments: list[str], outcome: str, message: str
) -> None:
    run.write(files)
    result = run(*arguments)
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([message])
    assert "pytest_chatprompt/" not in result.stdout.str()
    assert run.snapshots() == []
