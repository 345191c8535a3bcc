"""Names that `.agentv/targets.yaml` defines: which provider they are, and what is said about them."""

from __future__ import annotations

import pytest

from tests.runs.conftest import HELLO, Run
from tests.server import Reply, Server

TARGETS = """
targets:
  - name: flash
    provider: google
    model: gemini-flash-x
    temperature: 0.5
    api_key: ${{ GOOGLE_KEY }}
  - name: next
    provider: codex
    executable: codex-next
  - name: local
    provider: cli
    command: my-agent --prompt {PROMPT} {FILES}
  - name: strange
    provider: pi-agent
  - name: own
    provider: mine
"""


def test_a_target_stands_for_its_provider_with_its_settings(run: Run) -> None:
    run.write({".agentv/targets.yaml": TARGETS, "evals/a.eval.yaml": "provider: [flash, next, local]" + HELLO})
    run.update().assert_outcomes(passed=3)
    run().assert_outcomes(passed=3)
    flash = run.snapshot("evals/__snapshots__/a.eval/hello[flash].yaml")
    assert (flash["provider"], flash["endpoint"]) == ("flash", "POST /v1/models/gemini-flash-x:generateContent")
    assert flash["request"]["generationConfig"] == {"temperature": 0.5}
    assert run.snapshot("evals/__snapshots__/a.eval/hello[next].yaml")["argv"][0] == "codex-next"
    argv = run.snapshot("evals/__snapshots__/a.eval/hello[local].yaml")["argv"]
    assert argv[:2] == ["my-agent", "--prompt"]
    assert argv[2].endswith("hello")


def test_settings_of_the_eval_file_win_over_those_of_the_target(run: Run) -> None:
    head = "target: flash\nsettings: {temperature: 1, flash: {seed: 7}}"
    run.write({".agentv/targets.yaml": TARGETS, "a.eval.yaml": head + HELLO})
    run.update()
    request = run.snapshot("__snapshots__/a.eval/hello[flash].yaml")["request"]
    assert request["generationConfig"] == {"temperature": 1, "seed": 7}


OVERRIDES = """
import pytest
from pytest_chatprompt import AnthropicProvider, GeminiProvider, ProviderResponse

@pytest.fixture(params=["v1", "v1beta"])
def gemini_provider(request):
    return GeminiProvider(api_version=request.param, extra_body={"a": 1})

@pytest.fixture
def next_provider():
    return AnthropicProvider()

@pytest.fixture
def mine_provider():
    return lambda request: ProviderResponse(text="x")
"""


def test_fixtures_of_the_project_count(run: Run) -> None:
    run.write(
        {
            ".agentv/targets.yaml": TARGETS,
            "a.eval.yaml": "provider: [flash, next, own]" + HELLO,
            "conftest.py": OVERRIDES,
        }
    )
    run.update().assert_outcomes(passed=4)
    flash = run.snapshot("__snapshots__/a.eval/hello[flash-v1].yaml")
    assert (flash["endpoint"], flash["request"]["a"]) == ("POST /v1/models/gemini-flash-x:generateContent", 1)
    assert run.snapshot("__snapshots__/a.eval/hello[next].yaml")["endpoint"] == "POST /v1/messages"
    assert run.snapshot("__snapshots__/a.eval/hello[own].yaml")["messages"]


@pytest.mark.parametrize(
    ("targets", "error"),
    [
        pytest.param(
            TARGETS.replace("flash", "flesh"),
            "a.eval.yaml:1:9: case 'hello': unknown provider 'flash': there is no fixture 'flash_provider', only those of"
            " anthropic,*, and no such target in .agentv/targets.yaml; did you mean 'flesh'?*",
            id="another name",
        ),
        pytest.param(
            TARGETS.replace("google", "gogle"),
            "a.eval.yaml:1:9: case 'hello': the target 'flash' (.agentv/targets.yaml:3:5) has the provider 'gogle', which"
            " has no fixture; write a fixture 'flash_provider' for the target, or change its provider to one of anthropic,*",
            id="a provider without a fixture",
        ),
        pytest.param(
            "targets: 3\n",
            ".agentv/targets.yaml:1:10: targets must be a list under the key 'targets'",
            id="an invalid file",
        ),
    ],
)
def test_a_target_that_cannot_be_used_is_an_error_of_its_cases(run: Run, targets: str, error: str) -> None:
    run.write({".agentv/targets.yaml": targets, "a.eval.yaml": "target: flash" + HELLO, "b.eval.yaml": HELLO})
    run.update("b.eval.yaml")
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([error])


def test_what_has_no_effect_is_warned_about_once(run: Run) -> None:
    targets = TARGETS.replace("temperature: 0.5", "temprature: 0.5")
    files = {f"{name}.eval.yaml": "target: flash" + HELLO for name in "ab"}
    run.write({".agentv/targets.yaml": targets, "pytest.ini": "[pytest]\nfilterwarnings = default\n", **files})
    result = run("--snapshot-update")
    result.assert_outcomes(passed=2, warnings=1)
    text = "'temprature' of the target 'flash' has no effect here; did you mean 'temperature'?"
    result.stdout.fnmatch_lines([f"*.agentv/targets.yaml:6: EvalFileWarning: {text}"])


def test_a_case_in_code_may_name_a_target(run: Run) -> None:
    run.write(
        {
            ".agentv/targets.yaml": TARGETS,
            "test_it.py": (
                "import pytest\n"
                "from pytest_chatprompt import EvalCase\n"
                "@pytest.fixture\n"
                "def eval_case():\n"
                "    return EvalCase(id='a', provider='flash', input='hi')\n"
                "def test_it(eval_response, eval_api):\n"
                "    assert 'gemini-flash-x' in eval_api.sent[0].endpoint\n"
            ),
        }
    )
    run().assert_outcomes(passed=1)


LIVE_TARGET = """
targets:
  - name: gateway
    provider: openai
    endpoint: ${{ GATEWAY_URL }}
    api_key: ${{ GATEWAY_KEY }}
"""


def test_a_live_run_uses_the_variables_that_a_target_refers_to(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.write({".agentv/targets.yaml": LIVE_TARGET, "a.eval.yaml": "target: gateway" + HELLO})
    run.update()
    result = run("--chatprompt-live")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': the target 'gateway' (.agentv/targets.yaml:3:5) needs the environment variable"
            " GATEWAY_KEY; set it"
        ]
    )
    monkeypatch.setenv("GATEWAY_KEY", "key-of-the-gateway")
    monkeypatch.setenv("GATEWAY_URL", "gateway")
    run("--chatprompt-live").stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': the target 'gateway' (.agentv/targets.yaml:3:5): OpenAIProvider: 'gateway' is not"
            " an http or https URL with a host and without a query"
        ]
    )
    server.reply = Reply()
    monkeypatch.setenv("GATEWAY_URL", server.url)
    run("--chatprompt-live").assert_outcomes(passed=1)
    ((path, headers, _),) = server.requests
    assert (path, headers["authorization"]) == ("/chat/completions", "Bearer key-of-the-gateway")


def default(fields: str) -> str:
    return f"targets:\n  - {{name: default, {fields}}}\n"


CHOICE = "but they are sent to openai; set the ini value chatprompt_provider to 'default', which is that target, or to 'openai'"
FIRST = "AgentV would send the cases that name no other target to"


@pytest.mark.parametrize(
    ("targets", "sent_to"),
    [
        pytest.param(default("provider: azure"), "azure (.agentv/targets.yaml:2:5)", id="another provider"),
        pytest.param(
            default("provider: openai, model: gpt-x"),
            "openai with the model gpt-x (.agentv/targets.yaml:2:5)",
            id="another model",
        ),
        pytest.param(
            default("use_target: x"),
            "the target 'default' (.agentv/targets.yaml:2:5: the target 'default' must name its 'provider')",
            id="a target that cannot be read",
        ),
    ],
)
def test_a_default_target_that_is_not_what_is_sent_is_told_once_a_file(run: Run, targets: str, sent_to: str) -> None:
    case = "input_messages: [{role: user, content: hello}]"
    cases = f"target: default\nevalcases:\n  - {{id: a, {case}}}\n  - {{id: b, {case}}}\n  - {{id: c, provider: gemini, {case}}}"
    ini = "[pytest]\nfilterwarnings = default\n"
    run.write({".agentv/targets.yaml": targets, "a.eval.yaml": cases, "b.eval.yaml": HELLO, "pytest.ini": ini})
    result = run.update()
    result.assert_outcomes(passed=4, warnings=2)
    result.stdout.fnmatch_lines(
        [
            f"*a.eval.yaml:1: EvalFileWarning: {FIRST} {sent_to}, {CHOICE}",
            f"*b.eval.yaml:*: EvalFileWarning: {FIRST} {sent_to}, {CHOICE}",
        ],
        consecutive=False,
    )


@pytest.mark.parametrize(
    ("targets", "arguments", "ini"),
    [
        pytest.param(default("provider: openai, api_key: '${{ K }}'"), [], "", id="the same provider"),
        pytest.param(TARGETS, [], "", id="no such target"),
        pytest.param(default("provider: azure"), ["--chatprompt-provider", "openai"], "", id="an option"),
        pytest.param(default("provider: azure"), [], "chatprompt_provider = openai", id="an ini value"),
    ],
)
def test_a_default_target_is_not_told_where_somebody_has_chosen(
    run: Run, targets: str, arguments: list[str], ini: str
) -> None:
    run.write(
        {".agentv/targets.yaml": targets, "a.eval.yaml": "target: default" + HELLO, "pytest.ini": f"[pytest]\n{ini}"}
    )
    run("--snapshot-update", *arguments).assert_outcomes(passed=1, warnings=0)


def test_the_default_target_itself_can_be_the_default_provider(run: Run) -> None:
    ini = "[pytest]\nchatprompt_provider = default"
    run.write(
        {
            ".agentv/targets.yaml": default("provider: gemini, model: flash-x"),
            "a.eval.yaml": "target: default" + HELLO,
            "pytest.ini": ini,
        }
    )
    run.update().assert_outcomes(passed=1, warnings=0)
    assert "flash-x" in run.snapshot("__snapshots__/a.eval/hello[default].yaml")["endpoint"]
