"""Providers named with a model, `openai:gpt-5`, or with a note that tells two of them apart, `openai (strict)`."""

from __future__ import annotations

import pytest

from tests.runs.conftest import HELLO, Run

# What the file `a.eval.yaml` keeps for a provider.
SNAPSHOT = "__snapshots__/a.eval/hello[{}].yaml"


def test_a_provider_may_be_named_with_its_model(run: Run) -> None:
    run.write({"a.eval.yaml": "provider: [openai:gpt-x, 'bedrock:vendor.model-v2:0', gemini:flash-x]" + HELLO})
    result = run.update("-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["a.eval.yaml::hello[[]openai:gpt-x] PASSED*"])
    run().assert_outcomes(passed=3)
    sent = run.snapshot("__snapshots__/a.eval/hello[openai%3Agpt-x].yaml")
    assert (sent["provider"], sent["request"]["model"]) == ("openai:gpt-x", "gpt-x")
    sent = run.snapshot("__snapshots__/a.eval/hello[bedrock%3Avendor.model-v2%3A0].yaml")
    assert "vendor.model-v2%3A0" in sent["endpoint"]
    assert "flash-x" in run.snapshot("__snapshots__/a.eval/hello[gemini%3Aflash-x].yaml")["endpoint"]


def test_variants_of_a_provider_have_settings_of_their_own(run: Run) -> None:
    head = """
provider: ["openai:gpt-4o", openai (hot), 'openai:gpt-x (hot)']
settings: {stop: x, openai (hot): {seed: 2}, "openai:gpt-x (hot)": {seed: 1}}
"""
    run.write({"a.eval.yaml": head + HELLO})
    run.update().assert_outcomes(passed=3)
    names = ("openai%3Agpt-4o", "openai (hot)", "openai%3Agpt-x (hot)")
    requests = [run.snapshot(SNAPSHOT.format(name))["request"] for name in names]
    assert [(each["stop"], each.get("seed")) for each in requests] == [("x", None), ("x", 2), ("x", 1)]
    assert requests[2]["model"] == "gpt-x"


def test_a_variant_comes_from_the_fixture_of_its_provider_also_one_with_parameters(run: Run) -> None:
    run.write(
        {
            "conftest.py": """
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture(params=["a", "b"])
def openai_provider(request):
    return OpenAIProvider(model="own", extra_body={"metadata": {"param": request.param}})
""",
            "a.eval.yaml": "provider: openai:gpt-x" + HELLO,
        }
    )
    run.update().assert_outcomes(passed=2)
    request = run.snapshot("__snapshots__/a.eval/hello[openai%3Agpt-x-b].yaml")["request"]
    assert (request["model"], request["metadata"]) == ("gpt-x", {"param": "b"})


def test_the_model_of_an_agent_is_an_argument(run: Run) -> None:
    run.write({"a.eval.yaml": "provider: codex:gpt-x" + HELLO})
    run.update()
    assert "gpt-x" in run.snapshot("__snapshots__/a.eval/hello[codex%3Agpt-x].yaml")["argv"]


def test_the_command_line_and_the_judge_name_a_model_too(run: Run) -> None:
    run.write(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = error\nchatprompt_judge = anthropic:claude-x\n",
            "a.eval.yaml": "checks: [{type: llm_rubric, value: It greets.}]" + HELLO,
        }
    )
    run.update("--chatprompt-provider", "openai:gpt-x")
    sent = run.snapshot("__snapshots__/a.eval/hello[openai%3Agpt-x].yaml")
    assert sent["request"]["model"] == "gpt-x"
    assert sent["judge"][0]["request"]["model"] == "claude-x"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("opnai:gpt-x", "unknown provider 'opnai'*did you mean 'openai'?", id="of-an-unknown-provider"),
        pytest.param("'opnai (hot)'", "unknown provider 'opnai'*did you mean 'openai'?", id="a-variant-of-one"),
        pytest.param("'openai:'", "unknown provider 'openai:'*", id="without-a-model"),
        pytest.param(
            "mine:gpt-x",
            "'mine:gpt-x' names a model, but 'mine_provider' is no chat provider or agent, and takes none; set the "
            "model in the fixture",
            id="of-ones-own-provider",
        ),
    ],
)
def test_what_cannot_be_sent_under_such_a_name_is_said(run: Run, name: str, message: str) -> None:
    run.write(
        {
            "conftest.py": "import pytest\n@pytest.fixture\ndef mine_provider(): return lambda request: 'Hi'\n",
            "a.eval.yaml": f"provider: {name}" + HELLO,
        }
    )
    result = run("--snapshot-update")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{message}*"])
    assert run.snapshots() == []


def test_settings_may_be_for_a_variant_that_another_case_uses(run: Run) -> None:
    run.write({"a.eval.yaml": "settings: {openai (hot): {seed: 2}}" + HELLO})
    run.update().assert_outcomes(passed=1)
    run.write({"a.eval.yaml": "settings: {opnai (hot): {seed: 2}}" + HELLO})
    result = run("--snapshot-update")
    result.stdout.fnmatch_lines(["*settings for an unknown provider 'opnai (hot)'; did you mean 'openai'?*"])


@pytest.mark.parametrize(
    ("provider", "settings", "place"),
    [
        pytest.param("openai:gpt-x", "{model: gpt-y}", "2:12", id="for-all"),
        pytest.param("openai:gpt-x (hot)", '{"openai:gpt-x (hot)": {model: gpt-y}}', "2:35", id="for-the-variant"),
    ],
)
def test_settings_cannot_say_another_model_than_the_name(run: Run, provider: str, settings: str, place: str) -> None:
    run.write({"a.eval.yaml": f"provider: {provider}\nsettings: {settings}{HELLO}"})
    result = run("--snapshot-update")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            f"a.eval.yaml:{place}: case 'hello': the model is 'gpt-y' here, but 'gpt-x' in the provider's name; "
            "leave one of them out"
        ]
    )
    assert run.snapshots() == []


def test_settings_may_say_the_models_of_the_others(run: Run) -> None:
    head = "provider: [openai, 'openai:gpt-x']\nsettings: {openai: {model: gpt-y}}\n"
    run.write({"a.eval.yaml": head + HELLO})
    run.update().assert_outcomes(passed=2)
    names = ("openai", "openai%3Agpt-x")
    assert [run.snapshot(SNAPSHOT.format(name))["request"].get("model") for name in names] == ["gpt-y", "gpt-x"]


def test_the_command_line_cannot_say_another_model_than_the_settings(run: Run) -> None:
    run.write({"a.eval.yaml": f"settings: {{model: gpt-y}}{HELLO}"})
    result = run("--chatprompt-provider=openai:gpt-x")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["a.eval.yaml:1:12: case 'hello': the model is 'gpt-y' here, but 'gpt-x' in *"])


def test_a_comparison_with_a_model_that_the_settings_replace_is_no_comparison(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    run.write({"a.eval.yaml": f"settings: {{model: gpt-y}}{HELLO}"})
    run.update()
    result = run("--chatprompt-live", "--chatprompt-ab=provider=openai:gpt-x")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a.eval.yaml:1:12: case 'hello': the model is 'gpt-y' here, but 'gpt-x' in *"])
