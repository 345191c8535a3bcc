"""Fixtures and options: which provider a case goes through, and what users override."""

from __future__ import annotations

import pytest

from pytest_chatprompt.apis.table import PROVIDERS
from tests.runs.conftest import HELLO, Run

IMPORTS = """
import pytest
from pytest_chatprompt import AnthropicProvider, OpenAIProvider, ProviderResponse
"""


def test_the_default_provider_is_openai(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.update()
    assert run.snapshots() == ["__snapshots__/a.eval/hello[openai].yaml"]


@pytest.mark.parametrize(
    ("ini", "option", "file_key", "case_key", "provider"),
    [
        pytest.param("gemini", None, "", "", "gemini", id="the ini counts if nothing else names one"),
        pytest.param("gemini", None, "provider: openai", "", "openai", id="the file beats the ini"),
        pytest.param(
            "gemini", None, "provider: openai", "provider: anthropic", "anthropic", id="the case beats the file"
        ),
        pytest.param("gemini", "azure", "provider: openai", "provider: anthropic", "azure", id="the option beats all"),
        pytest.param(None, "gemini", "provider: [azure, openai]", "", "gemini", id="the option beats a list"),
        pytest.param("gemini", None, "target: default", "", "gemini", id="the target default means the ini's"),
    ],
)
def test_the_provider_is_the_most_specific_one_that_is_named(
    run: Run, ini: str | None, option: str | None, file_key: str, case_key: str, provider: str
) -> None:
    run.write({"a.eval.yaml": file_key + HELLO + (f"    {case_key}\n" if case_key else "")})
    arguments = ["-o", f"chatprompt_provider={ini}"] if ini else []
    run.update(*arguments, *(["--chatprompt-provider", option] if option else [])).assert_outcomes(passed=1)
    assert run.snapshots() == [f"__snapshots__/a.eval/hello[{provider}].yaml"]


def test_with_the_option_a_case_with_several_providers_is_one_item_without_brackets(run: Run) -> None:
    run.write({"a.eval.yaml": "provider: [azure, openai]" + HELLO})
    result = run("--chatprompt-provider", "gemini", "--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == ["a.eval.yaml::hello"]


def test_an_empty_option_is_a_usage_error(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    result = run("--chatprompt-provider", " ")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --chatprompt-provider is empty; name a provider, such as openai, *"])


def test_the_error_about_an_unknown_provider_lists_the_known_ones(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: antropic" + HELLO,
            "conftest.py": IMPORTS + "@pytest.fixture\ndef mine_provider():\n    return OpenAIProvider()\n",
        }
    )
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:1:11: case 'hello': unknown provider 'antropic': there is no fixture 'antropic_provider',"
            f" only those of {', '.join(sorted([*PROVIDERS, 'mine']))}; did you mean 'anthropic'?"
        ]
    )


def test_a_provider_fixture_that_needs_a_missing_fixture_is_reported_as_by_pytest(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: mine" + HELLO,
            "conftest.py": IMPORTS + "@pytest.fixture\ndef mine_provider(nowhere):\n    return OpenAIProvider()\n",
        }
    )
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E       fixture 'nowhere' not found"])


def test_a_conftest_overrides_a_provider_for_its_folder(run: Run) -> None:
    override = (
        IMPORTS
        + """
@pytest.fixture(scope="session")
def anthropic_provider():
    return AnthropicProvider(model="theirs", temperature=0, max_output_tokens=9)
"""
    )
    run.write(
        {
            "a.eval.yaml": "provider: anthropic" + HELLO,
            "team/b.eval.yaml": "provider: anthropic" + HELLO,
            "team/conftest.py": override,
        }
    )
    run.update()
    ours = run.snapshot("__snapshots__/a.eval/hello[anthropic].yaml")["request"]
    theirs = run.snapshot("team/__snapshots__/b.eval/hello[anthropic].yaml")["request"]
    assert isinstance(ours, dict)
    assert isinstance(theirs, dict)
    assert (ours["model"], ours["max_tokens"]) == ("claude-sonnet-5-5", 4096)
    assert (theirs["model"], theirs["max_tokens"], theirs["temperature"]) == ("theirs", 9, 0)


def test_any_fixture_whose_name_ends_in_provider_is_a_provider(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: local-llm" + HELLO,
            "conftest.py": IMPORTS
            + """
@pytest.fixture(name="local-llm_provider")
def local():
    return OpenAIProvider(model="llama", base_url="http://localhost:11434/v1")
""",
        }
    )
    run.update().assert_outcomes(passed=1)
    data = run.snapshot("__snapshots__/a.eval/hello[local-llm].yaml")
    assert (data["provider"], data["endpoint"]) == ("local-llm", "POST /chat/completions")


def test_a_fixture_can_override_the_provider_of_one_case(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO + "  - id: other\n    input_messages: [{role: user, content: x}]\n",
            "conftest.py": IMPORTS
            + """
@pytest.fixture
def eval_provider(eval_case, eval_provider):
    return OpenAIProvider(model="big") if eval_case.id == "other" else eval_provider
""",
        }
    )
    run.update()
    assert run.snapshots() == ["__snapshots__/a.eval/hello[openai].yaml", "__snapshots__/a.eval/other[openai].yaml"]
    assert run.snapshot("__snapshots__/a.eval/other[openai].yaml")["endpoint"] == "POST /chat/completions"


PARAMETRIZED = """
@pytest.fixture(params=["hot", "cold"])
def {name}(request):
    return OpenAIProvider(model=request.param)
"""


def test_a_parametrized_eval_provider_gives_one_item_for_each_parameter(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO, "conftest.py": IMPORTS + PARAMETRIZED.format(name="eval_provider")})
    result = run.update("-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["a.eval.yaml::hello[[]hot[]] PASSED*", "a.eval.yaml::hello[[]cold[]] PASSED*"])
    assert run.snapshots() == [
        "__snapshots__/a.eval/hello[openai-cold].yaml",
        "__snapshots__/a.eval/hello[openai-hot].yaml",
    ]


def test_parameters_follow_the_provider_of_a_list(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: [anthropic, openai]" + HELLO,
            "conftest.py": IMPORTS + PARAMETRIZED.format(name="openai_provider"),
        }
    )
    result = run.update("-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["*::hello[[]anthropic[]] PASSED*", "*::hello[[]openai-hot[]] PASSED*", "*::hello[[]openai-cold[]] PASSED*"]
    )
    assert run.snapshots() == [
        "__snapshots__/a.eval/hello[anthropic].yaml",
        "__snapshots__/a.eval/hello[openai-cold].yaml",
        "__snapshots__/a.eval/hello[openai-hot].yaml",
    ]
    run("a.eval.yaml::hello[openai-hot]").assert_outcomes(passed=1)


def test_pytest_generate_tests_can_parametrize_one_eval_file(run: Run) -> None:
    conftest = """
def pytest_generate_tests(metafunc):
    if metafunc.definition.path.name == "b.eval.yaml":
        metafunc.parametrize("eval_provider", [1, 2])
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO, "b.eval.yaml": HELLO, "c.eval.yaml": HELLO})
    run("--collect-only", "-q").stdout.fnmatch_lines(
        ["a.eval.yaml::hello", "b.eval.yaml::hello[[]1]", "b.eval.yaml::hello[[]2]", "c.eval.yaml::hello"],
        consecutive=True,
    )


def test_usefixtures_on_an_eval_file_applies_to_that_file_only(run: Run) -> None:
    conftest = """
import pytest

@pytest.fixture
def announce(request):
    print("set up for", request.node.nodeid)

def pytest_collectstart(collector):
    if collector.path.name == "a.eval.yaml":
        collector.add_marker(pytest.mark.usefixtures("announce"))
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO, "b.eval.yaml": HELLO})
    run.update()
    node_ids = [line.partition("set up for ")[2] for line in run("-s").outlines if "set up for " in line]
    assert node_ids == ["a.eval.yaml::hello"]


def test_each_case_gets_an_eval_api_without_routes_and_calls(run: Run) -> None:
    conftest = """
import httpx, pytest
from pytest_chatprompt import ProviderResponse

@pytest.fixture(autouse=True)
def check_api(eval_api):
    assert (list(eval_api.routes), len(eval_api.calls), eval_api.sent) == ([], 0, ())

@pytest.fixture
def mine_provider():
    def send(request):
        httpx.post("https://x.example/v1/messages", json={})
        return ProviderResponse(text="ok")
    return send
"""
    cases = "evalcases:\n" + "".join(
        f"  - {{id: c{number}, provider: [{provider}], input_messages: [{{role: user, content: hi}}]}}\n"
        for number, provider in enumerate(["azure", "openai", "azure", "mine", "mine", "azure", "azure"])
    )
    run.write({"conftest.py": conftest, "a.eval.yaml": cases})
    run.update()
    run().assert_outcomes(passed=7)


def test_a_parametrized_provider_of_a_folder_applies_to_that_folder_only(run: Run) -> None:
    conftest = """
import pytest

@pytest.fixture(params=["x", "y"])
def openai_provider(request):
    return lambda request: None
"""
    run.write(
        {
            "a.eval.yaml": HELLO,
            "b.eval.yaml": HELLO,
            "sub/conftest.py": conftest,
            "sub/a.eval.yaml": HELLO,
            "sub/b.eval.yaml": HELLO,
        }
    )
    run("--collect-only", "-q").stdout.fnmatch_lines(
        [
            "a.eval.yaml::hello",
            "b.eval.yaml::hello",
            "sub/a.eval.yaml::hello[[]x]",
            "sub/a.eval.yaml::hello[[]y]",
            "sub/b.eval.yaml::hello[[]x]",
            "sub/b.eval.yaml::hello[[]y]",
        ],
        consecutive=True,
    )


def test_pytest_generate_tests_can_replace_the_value_of_a_fixture(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": IMPORTS
            + """
def pytest_generate_tests(metafunc):
    if "eval_provider" in metafunc.fixturenames:
        metafunc.parametrize("eval_provider", [OpenAIProvider(model="a"), OpenAIProvider(model="b")], ids=["a", "b"])
""",
        }
    )
    run.update().assert_outcomes(passed=2)
    data = run.snapshot("__snapshots__/a.eval/hello[openai-b].yaml")["request"]
    assert isinstance(data, dict)
    assert data["model"] == "b"


def test_the_fixture_of_a_provider_is_not_needed_if_eval_provider_is_overridden(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: nowhere" + HELLO,
            "conftest.py": IMPORTS + "@pytest.fixture\ndef eval_provider():\n    return OpenAIProvider()\n",
        }
    )
    run.update().assert_outcomes(passed=1)
    assert run.snapshots() == ["__snapshots__/a.eval/hello[nowhere].yaml"]


def test_the_snapshot_of_a_plain_function_has_the_messages(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: echo" + HELLO,
            "conftest.py": IMPORTS
            + """
@pytest.fixture
def echo_provider():
    return lambda request: ProviderResponse(text=request.question)
""",
        }
    )
    run.update().assert_outcomes(passed=1)
    assert run.snapshot("__snapshots__/a.eval/hello[echo].yaml") == {
        "provider": "echo",
        "question": "hello",
        "messages": [{"role": "user", "content": "hello"}],
    }


def test_an_error_in_a_users_provider_shows_only_the_users_code(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: mine" + HELLO,
            "conftest.py": IMPORTS
            + """
class Mine:
    def send(self, request):
        return {}["their mistake"]

@pytest.fixture
def mine_provider():
    return Mine()
""",
        }
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['>       return {}["their mistake"]', "E       KeyError: 'their mistake'"])
    for machinery in ("pytest_chatprompt/", "_pytest", "pluggy/"):
        assert machinery not in result.stdout.str().partition("= FAILURES =")[2]


def test_a_provider_class_in_place_of_an_instance_is_an_error(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: openai" + HELLO,
            "conftest.py": IMPORTS + "@pytest.fixture\ndef openai_provider():\n    return OpenAIProvider\n",
        }
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*the provider is the class OpenAIProvider; make an instance of it: OpenAIProvider(...)"]
    )


def test_a_fixture_can_add_routes_to_eval_api(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: mine" + HELLO,
            "conftest.py": IMPORTS
            + """
import httpx

@pytest.fixture
def mine_provider(eval_api):
    eval_api.get("https://rag.example/find").respond(json=["doc"])

    def send(request):
        documents = httpx.get("https://rag.example/find").json()
        httpx.post("https://llm.example/v1/messages", json={"documents": documents})
        return ProviderResponse(text="")

    return send
""",
        }
    )
    run.update().assert_outcomes(passed=1)
    assert run.snapshot("__snapshots__/a.eval/hello[mine].yaml")["requests"] == [
        {"endpoint": "GET /find", "request": None},
        {"endpoint": "POST /v1/messages", "request": {"documents": ["doc"]}},
    ]


def test_a_request_that_nothing_answers_fails_the_case(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: mine" + HELLO,
            "conftest.py": IMPORTS
            + "import httpx\n@pytest.fixture\ndef mine_provider():\n    return lambda _: httpx.get('https://x.example/a')\n",
        }
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': nothing answers GET https://x.example/a offline; give the fixture eval_api a route for it, as in",
            "  eval_api.get('https://x.example/a').respond(json={...})",
            "or run with --chatprompt-live",
        ]
    )


def test_a_message_that_the_api_cannot_express_is_an_error_at_its_line(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": """
evalcases:
  - id: a
    provider: anthropic
    input_messages:
      - {role: user, content: hi}
      - {role: tool, tool_call_id: c, content: x}
"""
        }
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:7:9: case 'a': message 2: it answers the call 'c', but no call comes before it; put the assistant message that makes the call before it"
        ]
    )


def test_eval_api_does_not_affect_ordinary_tests(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "test_b.py": """
import httpx

def test_httpx():
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(418))) as client:
        assert client.post("https://x.example/v1/messages").status_code == 418

def test_respx(respx_mock):
    respx_mock.get("https://x.example/").respond(204)
    assert httpx.get("https://x.example/").status_code == 204
""",
        }
    )
    run.update().assert_outcomes(passed=3)


def test_ordinary_tests_can_use_the_fixtures(run: Run) -> None:
    run.write(
        {
            "test_b.py": """
import pytest
from pytest_chatprompt import ProviderRequest

@pytest.fixture
def eval_request():
    return ProviderRequest(question="hi")

def test_it(eval_provider, eval_response, eval_api):
    assert eval_response.text == "(offline)"
    assert eval_api.calls.last.request.url.path.endswith("/chat/completions")
    assert type(eval_provider).__name__ == "OpenAIProvider"
"""
        }
    )
    run().assert_outcomes(passed=1)


def test_eval_case_in_an_ordinary_test_is_an_error(run: Run) -> None:
    run.write({"test_b.py": "def test_it(eval_case): ...\n"})
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["eval_case: test_b.py::test_it is not a case of an eval file; override eval_case to use it here"]
    )


def test_an_error_of_a_fixture_that_ignores_an_invalid_case_is_reported(run: Run) -> None:
    fixture = "@pytest.fixture(scope='session')\ndef eval_provider():\n    raise ProviderError('the gateway is down')\n"
    run.write(
        {
            "a.eval.yaml": HELLO.replace("content", "contnet"),
            "conftest.py": "import pytest\nfrom pytest_chatprompt import ProviderError\n" + fixture,
        }
    )
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["a.eval.yaml:3:1: case 'hello': the gateway is down"])


def test_a_provider_name_that_pytest_escapes_in_ids_is_not_escaped_in_snapshot_names(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: [modèle]" + HELLO,
            "conftest.py": IMPORTS + "@pytest.fixture\ndef modèle_provider():\n    return OpenAIProvider()\n",
        }
    )
    run.update()
    assert run.snapshots() == ["__snapshots__/a.eval/hello[modèle].yaml"]
    run.write({"a.eval.yaml": "provider: modèle" + HELLO})
    run().assert_outcomes(passed=1)


def test_fixtures_cannot_change_a_case(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "metadata: {systemPrompt: x, deep: {list: [1]}}" + HELLO,
            "conftest.py": IMPORTS
            + """
@pytest.fixture
def eval_request(eval_case, eval_request):
    with pytest.raises(TypeError):
        eval_case.metadata["systemPrompt"] = "y"
    with pytest.raises(TypeError):
        eval_case.metadata["deep"]["new"] = 1
    assert eval_case.metadata["deep"]["list"] == (1,)
    return eval_request
""",
        }
    )
    run.update().assert_outcomes(passed=1)


def test_offline_an_overridden_eval_response_is_not_set_up(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": IMPORTS + "@pytest.fixture\ndef eval_response(eval_response):\n    raise AssertionError\n",
        }
    )
    run.update().assert_outcomes(passed=1)


def test_the_inis_patterns_and_system_prompt_apply_to_files_without_their_own(run: Run) -> None:
    run.write(
        {
            "pytest.ini": "[pytest]\nchatprompt_guideline_patterns =\n    **/*.rules.md\nchatprompt_system_prompt = Ours.\n",
            "a.rules.md": "Be brief.",
            "a.eval.yaml": """
evalcases:
  - id: a
    input_messages: [{role: user, content: [{type: text, value: hi}, {type: file, value: a.rules.md}]}]
  - id: b
    input_messages: [{role: user, content: hi}]
""",
        }
    )
    run.update()
    request = run.snapshot("__snapshots__/a.eval/a[openai].yaml")["request"]
    assert isinstance(request, dict)
    assert request["messages"][0] == {"role": "system", "content": "Ours.\n\n[[ ## Guidelines ## ]]\n\nBe brief."}
    request = run.snapshot("__snapshots__/a.eval/b[openai].yaml")["request"]
    assert isinstance(request, dict)
    assert request["messages"][0] == {"role": "system", "content": "Ours."}


def test_help_lists_the_options_and_fixtures(run: Run) -> None:
    run("--help").stdout.fnmatch_lines(
        ["evals of chat prompts:", "*--chatprompt-provider*", "*--chatprompt-live*", "*chatprompt_files*"]
    )
    run("--fixtures").stdout.fnmatch_lines(
        [
            "*openai_provider [[]session scope[]] -- *", "    OpenAI with its defaults; *",
        ]
    )  # fmt: skip


def test_offline_an_error_reply_is_not_retried(run: Run) -> None:
    run.write(
        {
            "test_a.py": """
import pytest
from pytest_chatprompt import ChatMessage, OpenAIProvider, ProviderRequest, RateLimitError

@pytest.fixture(scope="session")
def eval_provider():
    return OpenAIProvider()

@pytest.fixture
def eval_request():
    return ProviderRequest(chat_prompt=[ChatMessage("user", "hi")])

def test_it(request, eval_api):
    route = eval_api.post(path__regex="chat/completions").respond(429)
    with pytest.raises(RateLimitError):
        request.getfixturevalue("eval_response")
    assert route.call_count == 1

def test_it_does_not_slow_down_later_requests(eval_provider, eval_request, eval_api):
    assert eval_provider._http.shared_pause._paused_until == 0
"""
        }
    )
    run().assert_outcomes(passed=2)
