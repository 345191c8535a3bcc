"""Fixtures and options: what users override and type."""

from __future__ import annotations

import pytest

from .conftest import HELLO, Run

CUSTOM = """
import pytest
from pytest_chatprompt import AnthropicProvider, OpenAIProvider, ProviderResponse
"""


def test_the_default_provider_is_azure(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.update()
    assert run.snapshots() == ["__snapshots__/a.eval/hello[azure].yaml"]


@pytest.mark.parametrize(
    ("ini", "option", "head", "own", "provider"),
    [
        pytest.param("gemini", None, "", "", "gemini", id="the ini is what files fall back on"),
        pytest.param("gemini", None, "provider: openai", "", "openai", id="the file beats the ini"),
        pytest.param(
            "gemini", None, "provider: openai", "provider: anthropic", "anthropic", id="the case beats the file"
        ),
        pytest.param("gemini", "azure", "provider: openai", "provider: anthropic", "azure", id="the option beats all"),
        pytest.param(None, "gemini", "provider: [azure, openai]", "", "gemini", id="the option beats a list"),
        pytest.param("gemini", None, "target: default", "", "gemini", id="a target of default"),
    ],
)
def test_who_names_the_provider(
    run: Run, ini: str | None, option: str | None, head: str, own: str, provider: str
) -> None:
    run.write({"a.eval.yaml": head + HELLO + (f"    {own}\n" if own else "")})
    arguments = ["-o", f"chatprompt_provider={ini}"] if ini else []
    run.update(*arguments, *(["--chatprompt-provider", option] if option else [])).assert_outcomes(passed=1)
    assert run.snapshots() == [f"__snapshots__/a.eval/hello[{provider}].yaml"]


def test_with_the_option_a_list_is_one_item_without_bracket(run: Run) -> None:
    run.write({"a.eval.yaml": "provider: [azure, openai]" + HELLO})
    result = run("--chatprompt-provider", "gemini", "--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == ["a.eval.yaml::hello"]


def test_an_empty_option_is_a_usage_error(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    result = run("--chatprompt-provider", " ")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --chatprompt-provider is empty; name a provider, such as azure, openai, *"])


def test_an_unknown_provider_is_told_with_the_known_ones(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: antropic" + HELLO,
            "conftest.py": CUSTOM + "@pytest.fixture\ndef mine_provider():\n    return OpenAIProvider()\n",
        }
    )
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': unknown provider 'antropic': no fixture 'antropic_provider' can be asked for;"
            " did you mean 'anthropic'? The providers here are anthropic, azure, cli, codex, gemini, mine, openai, vscode"
        ]
    )


def test_a_provider_that_lacks_a_fixture_of_its_own_is_pytests_error(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: mine" + HELLO,
            "conftest.py": CUSTOM + "@pytest.fixture\ndef mine_provider(nowhere):\n    return OpenAIProvider()\n",
        }
    )
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E       fixture 'nowhere' not found"])


def test_a_conftest_overrides_a_provider_for_its_folder(run: Run) -> None:
    override = (
        CUSTOM
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


def test_any_fixture_named_like_a_provider_is_one(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: local-llm" + HELLO,
            "conftest.py": CUSTOM
            + """
@pytest.fixture(name="local-llm_provider")
def local(request):
    return OpenAIProvider(model="llama", base_url="http://localhost:11434/v1")
""",
        }
    )
    run.update().assert_outcomes(passed=1)
    data = run.snapshot("__snapshots__/a.eval/hello[local-llm].yaml")
    assert (data["provider"], data["endpoint"]) == ("local-llm", "POST /chat/completions")


def test_a_fixture_that_looks_at_the_case_overrides_for_one(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO + "  - id: other\n    input_messages: [{role: user, content: x}]\n",
            "conftest.py": CUSTOM
            + """
@pytest.fixture
def eval_provider(eval_case, eval_provider):
    return OpenAIProvider(model="big") if eval_case.id == "other" else eval_provider
""",
        }
    )
    run.update()
    assert run.snapshots() == ["__snapshots__/a.eval/hello[azure].yaml", "__snapshots__/a.eval/other[azure].yaml"]
    assert run.snapshot("__snapshots__/a.eval/other[azure].yaml")["endpoint"] == "POST /chat/completions"


PARAMETRIZED = """
@pytest.fixture(params=["hot", "cold"])
def {name}(request):
    return OpenAIProvider(model=request.param)
"""


def test_a_parametrized_eval_provider_gives_one_item_for_each_parameter(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO, "conftest.py": CUSTOM + PARAMETRIZED.format(name="eval_provider")})
    result = run.update("-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["a.eval.yaml::hello[[]hot[]] PASSED*", "a.eval.yaml::hello[[]cold[]] PASSED*"])
    assert run.snapshots() == [
        "__snapshots__/a.eval/hello[azure-cold].yaml",
        "__snapshots__/a.eval/hello[azure-hot].yaml",
    ]


def test_parameters_follow_the_provider_of_a_list(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: [anthropic, openai]" + HELLO,
            "conftest.py": CUSTOM + PARAMETRIZED.format(name="openai_provider"),
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


def test_parameters_of_generate_tests_may_differ_from_file_to_file(run: Run) -> None:
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


def test_fixtures_that_a_mark_asks_for_are_those_of_its_file(run: Run) -> None:
    conftest = """
import pytest

@pytest.fixture
def told(request):
    print("told of", request.node.nodeid)

def pytest_collectstart(collector):
    if collector.path.name == "a.eval.yaml":
        collector.add_marker(pytest.mark.usefixtures("told"))
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO, "b.eval.yaml": HELLO})
    run.update()
    told = [line.partition("told of ")[2] for line in run("-s").outlines if "told of " in line]
    assert told == ["a.eval.yaml::hello"]


def test_eval_api_is_as_good_as_new_for_each_case(run: Run) -> None:
    conftest = """
import httpx, pytest
from pytest_chatprompt import ProviderResponse

seen = []

@pytest.fixture(autouse=True)
def keep(eval_api):
    assert (list(eval_api.routes), len(eval_api.calls), eval_api.sent) == ([], 0, [])
    seen.append(eval_api)

@pytest.fixture
def mine_provider():
    def send(request):
        httpx.post("https://x.example/v1/messages", json={})
        return ProviderResponse(text="ok")
    return send

def pytest_sessionfinish():
    print("apis:", len(set(map(id, seen))), "of", len(seen))
"""
    cases = "evalcases:\n" + "".join(
        f"  - {{id: c{number}, provider: [{provider}], input_messages: [{{role: user, content: hi}}]}}\n"
        for number, provider in enumerate(["azure", "openai", "azure", "mine", "mine", "azure", "azure"])
    )
    run.write({"conftest.py": conftest, "a.eval.yaml": cases})
    run.update()
    run("-s").stdout.fnmatch_lines(["*apis: 3 of 7*"])


def test_parametrized_providers_of_a_folder_are_its_own(run: Run) -> None:
    conftest = """
import pytest

@pytest.fixture(params=["x", "y"])
def azure_provider(request):
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


def test_parameters_of_generate_tests_take_the_place_of_a_fixture(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": CUSTOM
            + """
def pytest_generate_tests(metafunc):
    if "eval_provider" in metafunc.fixturenames:
        metafunc.parametrize("eval_provider", [OpenAIProvider(model="a"), OpenAIProvider(model="b")], ids=["a", "b"])
""",
        }
    )
    run.update().assert_outcomes(passed=2)
    data = run.snapshot("__snapshots__/a.eval/hello[azure-b].yaml")["request"]
    assert isinstance(data, dict)
    assert data["model"] == "b"


def test_a_provider_that_nobody_asks_for_is_not_made(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: nowhere" + HELLO,
            "conftest.py": CUSTOM + "@pytest.fixture\ndef eval_provider():\n    return OpenAIProvider()\n",
        }
    )
    run.update().assert_outcomes(passed=1)
    assert run.snapshots() == ["__snapshots__/a.eval/hello[nowhere].yaml"]


def test_a_plain_function_has_its_messages_recorded(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: echo" + HELLO,
            "conftest.py": CUSTOM
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


def test_an_error_in_a_users_provider_shows_the_users_lines_and_none_of_ours(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: mine" + HELLO,
            "conftest.py": CUSTOM
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


def test_a_class_in_place_of_a_provider_is_told(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: openai" + HELLO,
            "conftest.py": CUSTOM + "@pytest.fixture\ndef openai_provider():\n    return OpenAIProvider\n",
        }
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the provider is the class OpenAIProvider; make one of it: OpenAIProvider(...)"])


def test_a_case_adds_routes_of_its_own(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: mine" + HELLO,
            "conftest.py": CUSTOM
            + """
import httpx

@pytest.fixture
def mine_provider(eval_api):
    eval_api.get("https://rag.example/find").respond(json=["doc"])

    def send(request):
        found = httpx.get("https://rag.example/find").json()
        httpx.post("https://llm.example/v1/messages", json={"found": found})
        return ProviderResponse(text="")

    return send
""",
        }
    )
    run.update().assert_outcomes(passed=1)
    assert run.snapshot("__snapshots__/a.eval/hello[mine].yaml")["requests"] == [
        {"endpoint": "GET /find", "request": None},
        {"endpoint": "POST /v1/messages", "request": {"found": ["doc"]}},
    ]


def test_a_request_that_no_route_answers_fails_the_case(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: mine" + HELLO,
            "conftest.py": CUSTOM
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


def test_what_the_api_cannot_hold_is_told_at_the_message(run: Run) -> None:
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
            "a.eval.yaml:7:9: case 'a': message 2: it answers the call 'c', and there is no call before it; put the assistant message that makes the call in front of it"
        ]
    )


def test_ordinary_tests_notice_nothing_of_the_stand_in(run: Run) -> None:
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


def test_ordinary_tests_can_ask_for_the_fixtures(run: Run) -> None:
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
    assert type(eval_provider).__name__ == "AzureProvider"
"""
        }
    )
    run().assert_outcomes(passed=1)


def test_eval_case_is_only_there_for_cases(run: Run) -> None:
    run.write({"test_b.py": "def test_it(eval_case): ...\n"})
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["eval_case: test_b.py::test_it is no case of an eval file; override eval_case to use it here"]
    )


def test_a_fixture_that_goes_on_without_a_broken_case_breaks_no_run(run: Run) -> None:
    fixture = "@pytest.fixture(scope='session')\ndef eval_provider():\n    raise ProviderError('no gateway today')\n"
    run.write(
        {
            "a.eval.yaml": HELLO.replace("content", "contnet"),
            "conftest.py": "import pytest\nfrom pytest_chatprompt import ProviderError\n" + fixture,
        }
    )
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["a.eval.yaml::hello: no gateway today"])


def test_a_provider_whose_name_is_escaped_in_ids_has_one_snapshot_name(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: [modèle]" + HELLO,
            "conftest.py": CUSTOM + "@pytest.fixture\ndef modèle_provider():\n    return OpenAIProvider()\n",
        }
    )
    run.update()
    assert run.snapshots() == ["__snapshots__/a.eval/hello[modèle].yaml"]
    run.write({"a.eval.yaml": "provider: modèle" + HELLO})
    run().assert_outcomes(passed=1)


def test_what_a_fixture_does_to_a_case_reaches_no_other_item(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "metadata: {systemPrompt: x, deep: {list: [1]}}" + HELLO,
            "conftest.py": CUSTOM
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


def test_offline_an_overridden_response_is_not_asked_for(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": CUSTOM + "@pytest.fixture\ndef eval_response(eval_response):\n    raise AssertionError\n",
        }
    )
    run.update().assert_outcomes(passed=1)


def test_the_inis_patterns_and_system_prompt_count_where_a_file_has_none(run: Run) -> None:
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
    request = run.snapshot("__snapshots__/a.eval/a[azure].yaml")["request"]
    assert isinstance(request, dict)
    assert request["messages"][0] == {"role": "system", "content": "Ours.\n\n[[ ## Guidelines ## ]]\n\nBe brief."}
    request = run.snapshot("__snapshots__/a.eval/b[azure].yaml")["request"]
    assert isinstance(request, dict)
    assert request["messages"][0] == {"role": "system", "content": "Ours."}


def test_options_and_fixtures_are_told_by_help(run: Run) -> None:
    told = run("--help").stdout
    told.fnmatch_lines(
        ["evals of chat prompts:", "*--chatprompt-provider*", "*--chatprompt-live*", "*chatprompt_files*"]
    )
    run("--fixtures").stdout.fnmatch_lines(
        [
            "*azure_provider [[]session scope[]] -- *", "    Azure OpenAI with its defaults; *",
        ]
    )  # fmt: skip


def test_an_error_that_a_test_asks_for_offline_is_not_tried_again(run: Run) -> None:
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

def test_nor_does_it_slow_down_what_comes_after(eval_provider, eval_request, eval_api):
    assert eval_provider._channel.pace._held_until == 0
"""
        }
    )
    run().assert_outcomes(passed=2)
