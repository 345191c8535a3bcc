"""AgentV's targets: what a target says, what of it has no effect, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.cases.agentv_settings import Target, read_targets_file, resolve_references
from tests.conftest import Project


def read(project: Project, fields: str) -> Target:
    """Read the target `t`; its fields begin on line 3."""
    lines = "".join(f"    {line}\n" for line in fields.splitlines())
    path = project.write(".agentv/targets.yaml", f"targets:\n  - name: t\n{lines}  - {{name: other, provider: 3}}\n")
    return read_targets_file(path, project.root).read("t")


@pytest.mark.parametrize(
    ("fields", "attributes"),
    [
        pytest.param("provider: gemini", {"provider": "gemini", "place": ".agentv/targets.yaml:2:5"}, id="a provider"),
        pytest.param("provider: Google-Gemini", {"provider": "gemini"}, id="another name of a provider"),
        pytest.param("provider: mock", {"provider": "mock"}, id="a provider that may have a fixture"),
        pytest.param(
            "provider: azure\nendpoint: ${{ E }}\napi_key: ${{ K }}\nmodel: gpt\nversion: v1",
            {"endpoint": "${{ E }}", "api_key": "${{ K }}", "settings": {"model": "gpt"}, "api_version": "v1"},
            id="a deployment on Azure",
        ),
        pytest.param(
            "provider: azure-openai\nresourceName: mine\ndeploymentName: gpt\napiKey: ${{K}}\nmaxTokens: 5",
            {"endpoint": "mine", "api_key": "${{K}}", "settings": {"model": "gpt", "max_output_tokens": 5}},
            id="the older names",
        ),
        pytest.param(
            "provider: openai\ntemperature: 0.5\nmax_tokens: 5",
            {"settings": {"temperature": 0.5, "max_output_tokens": 5}, "name": "t"},
            id="numbers",
        ),
        pytest.param(
            "provider: codex\nexecutable: codex-next\nmodel: gpt\nargs: [--x]\ntimeout_seconds: 9\ncwd: ${{ W }}",
            {
                "settings": {},
                "agent": {
                    "executable": "codex-next",
                    "model": "gpt",
                    "args": ("--x",),
                    "timeout_seconds": 9,
                    "cwd": "${{ W }}",
                },
            },
            id="an agent",
        ),
        pytest.param(
            "provider: cli\ncommand: uv run 'my agent.py' --prompt {PROMPT} {FILES} -o {OUTPUT_FILE} {EVAL_ID} {X}",
            {
                "agent": {
                    "command": (
                        "uv",
                        "run",
                        "my agent.py",
                        "--prompt",
                        "{prompt}",
                        "{files}",
                        "-o",
                        "{output_file}",
                        "{eval_id}",
                        "{X}",
                    )
                }
            },
            id="a command",
        ),
        pytest.param(
            "provider: claude-cli\nmodel: opus\ncwd: w",
            {"provider": "claude", "agent": {"model": "opus", "cwd": "w"}},
            id="by AgentV's name",
        ),
        pytest.param(
            "provider: cli\ncommand_template: agent {FILES} {ATTEMPT}\nfiles_format: --file={path}",
            {"agent": {"command": ("agent", "--file={files}", "0")}},
            id="a format of files",
        ),
        pytest.param(
            "provider: cli\ncommand: agent {FILES} -o {OUTPUT_FILE}\nattachmentsFormat: --file {path}",
            {"agent": {"command": ("agent", ("--file", "{files}"), "-o", "{output_file}")}},
            id="a file in two words",
        ),
        pytest.param(
            "provider: cli\ncommand: agent\nfiles_format: ''",
            {"agent": {"command": ("agent",)}},
            id="no format of files",
        ),
        pytest.param(
            "provider: openai\njudge_target: x\nworkers: 3\nlog_dir: y\nverbose: true\nmodel:\nx-note: 3",
            {"settings": {}, "ineffective": ()},
            id="what does not matter",
        ),
    ],
)
def test_a_target_says_what_its_provider_is(project: Project, fields: str, attributes: dict[str, Any]) -> None:
    target = read(project, fields)
    assert {name: getattr(target, name) for name in attributes} == attributes
    assert target.ineffective == ()


ENVIRONMENT = "comes from the environment, on which snapshots must not depend"


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        (
            "system_prompt: x",
            "4:5: 'system_prompt' of the target 't' has no effect here; set it in a fixture t_provider",
        ),
        ("temprature: 1", "4:5: 'temprature' of the target 't' has no effect here; did you mean 'temperature'?"),
        ("command: x", "4:5: 'command' of the target 't' has no effect here; set it in a fixture t_provider"),
        (
            "model: ${{ MODEL }}",
            f"4:5: 'model' of the target 't' {ENVIRONMENT}: that of gemini_provider counts; "
            "write it here, or override that fixture",
        ),
        (
            "api_version: ${{ VERSION }}",
            f"4:5: 'api_version' of the target 't' {ENVIRONMENT}: that of gemini_provider counts; "
            "write it here, or override that fixture",
        ),
    ],
)
def test_a_field_without_effect_is_told(project: Project, fields: str, warning: str) -> None:
    target = read(project, f"provider: gemini\n{fields}")
    assert [str(diagnostic) for diagnostic in target.ineffective] == [f".agentv/targets.yaml:{warning}"]
    assert (target.settings, target.api_version) == ({}, None)


FIXTURE = "write a fixture t_provider that returns a CLIProvider"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("model: x", "2:5: the target 't' must name its 'provider'"),
        ("provider: 3", "3:15: the target 't' must name its 'provider', but it is the number 3"),
        (
            "provider: openai\nmodel: 3",
            "4:12: 'model' must be a text that is not empty, but is the number 3",
        ),
        ("provider: openai\nmodel: ''", "4:12: 'model' must be a text that is not empty, but is ''"),
        ("provider: openai\ntemperature: hot", "4:18: 'temperature' must be a number, 0 or more, but is 'hot'"),
        (
            "provider: openai\nmaxTokens: 0",
            "4:16: 'max_output_tokens' must be a whole number, 1 or more, but is the number 0",
        ),
        (
            "provider: openai\napi_key: sk-123",
            "4:14: 'api_key' must be a reference such as ${{ OPENAI_API_KEY }}: do not write keys into files",
        ),
        ("provider: codex\nargs: --x", "4:11: 'args' must be a list, but is '--x'"),
        (
            "provider: codex\ntimeout_seconds: 0",
            "4:22: 'timeout_seconds' must be a number above 0, but is the number 0",
        ),
        (
            "provider: codex\nexecutable: ''",
            "4:17: 'executable' is empty",
        ),
        (
            "provider: codex\ntimeout_seconds: true",
            "4:22: 'timeout_seconds' must be a number above 0, but is the boolean true (true)",
        ),
        ("provider: cli", f"2:5: the target 't' has no 'command'; {FIXTURE}"),
        (
            "provider: cli\ncommand: agent < {PROMPT_FILE}",
            f"4:5: the target 't' has a command for a shell, but commands run without a shell here; {FIXTURE}",
        ),
        (
            "provider: cli\ncommand_template: agent 'x",
            f"4:5: the target 't' has a command that cannot be split into words (No closing quotation); {FIXTURE}",
        ),
        *(
            (
                f"provider: cli\ncommand: agent x{{FILES}}\nfiles_format: {written}",
                f"4:5: the target 't' writes a file as {written!r}, but here it must have {{path}}, and {{FILES}} must "
                f"stand alone; {FIXTURE}",
            )
            for written in ("--file={basename}", "--file {path}")
        ),
    ],
)
def test_a_mistake_in_a_target_is_told_at_its_place(project: Project, fields: str, problem: str) -> None:
    with pytest.raises(EvalFileError) as caught:
        read(project, fields)
    assert str(caught.value) == f".agentv/targets.yaml:{problem}"


def test_a_name_that_two_targets_have_is_an_error_of_both(project: Project) -> None:
    lines = (
        "targets:\n  - {name: t, provider: gemini}\n  - {name: u, provider: gemini}\n  - {name: t, provider: openai}\n"
    )
    targets = read_targets_file(project.write(".agentv/targets.yaml", lines), project.root)
    assert targets.read("u").provider == "gemini"
    with pytest.raises(EvalFileError) as caught:
        targets.read("t")
    assert str(caught.value) == (
        ".agentv/targets.yaml:4:12: the target 't' is defined twice, first on line 2; give each target a name of its own"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1:1: targets must be a list under the key 'targets'"),
        ("- name: t\n", "1:1: targets must be a list under the key 'targets'"),
        ("targets: {t: x}\n", "1:10: targets must be a list under the key 'targets'"),
    ],
)
def test_a_file_without_a_list_of_targets_is_an_error(project: Project, text: str, problem: str) -> None:
    path = project.write(".agentv/targets.yaml", text)
    with pytest.raises(EvalFileError) as caught:
        read_targets_file(path, project.root)
    assert str(caught.value) == f".agentv/targets.yaml:{problem}"


def test_a_file_that_is_no_yaml_is_an_error_with_its_path(project: Project) -> None:
    path = project.write(".agentv/targets.yaml", "targets: [\n")
    with pytest.raises(EvalFileError) as caught:
        read_targets_file(path, project.root)
    assert (
        str(caught.value)
        == ".agentv/targets.yaml:2:1: not valid YAML: did not find expected node content, while parsing a flow node on line 2"
    )


def test_arguments_that_come_from_the_environment_have_no_effect(project: Project) -> None:
    target = read(project, "provider: codex\nargs: [--model, '${{ MODEL }}']")
    assert [str(diagnostic) for diagnostic in target.ineffective] == [
        f".agentv/targets.yaml:4:5: 'args' of the target 't' {ENVIRONMENT}: that of codex_provider counts; "
        "write it here, or override that fixture"
    ]
    assert target.agent == {}


@pytest.mark.parametrize(
    ("field", "provider", "hint"),
    [
        ("timeoutSeconds: 9", "codex", ""),
        ("timeoutSeconds: 9", "openai", ""),
        ("x-note: 9", "openai", ""),
        ("command: x", "openai", "set it in a fixture t_provider"),
        ("modle: x", "openai", "did you mean 'model'?"),
        ("workesr: 3", "codex", "did you mean 'workers'?"),
        ("api_format: responses", "openai", "set it in a fixture t_provider"),
        ("max_turns: 3", "claude", "set it in a fixture t_provider"),
        ("subprovider: azure", "copilot", "set it in a fixture t_provider"),
        ("log_directory: logs", "codex", ""),
        ("log_output_format: json", "claude", ""),
    ],
)
def test_what_a_field_does_depends_on_the_provider(project: Project, field: str, provider: str, hint: str) -> None:
    target = read(project, f"provider: {provider}\n{field}")
    key = field.partition(":")[0]
    text = f".agentv/targets.yaml:4:5: {key!r} of the target 't' has no effect here; {hint}"
    assert [str(diagnostic) for diagnostic in target.ineffective] == ([text] if hint else [])


def test_a_setting_by_two_names_is_told(project: Project) -> None:
    target = read(project, "provider: openai\nmodel: gpt-x\nvariant: other")
    text = "'variant' of the target 't' sets what another key sets on line 4; leave one of them out"
    assert [str(each) for each in target.ineffective] == [f".agentv/targets.yaml:5:5: {text}"]
    assert target.settings == {"model": "gpt-x"}


def test_entries_without_a_name_are_no_targets(project: Project) -> None:
    path = project.write(".agentv/targets.yaml", "targets: [x, {provider: y}, {name: 3}, {name: z}]\n")
    assert [*read_targets_file(path, project.root).nodes] == ["z"]


@pytest.mark.parametrize("head", ["", "providers:\n"])
def test_a_provider_of_version_5_has_its_settings_under_config(project: Project, head: str) -> None:
    entries = """\
- {id: openai, label: local, config: {model: gpt-x, api_key: "{{ env.KEY }}", temperature: 0}}
- {id: named, provider: google, config: null, model: gemini-x}
- {id: openai, config: 3, temperature: "{{ env.T }}"}
"""
    file = read_targets_file(project.write(".agentv/providers.yaml", head + entries), project.root)
    local = file.read("local")
    assert (local.provider, dict(local.settings), local.api_key) == (
        "openai",
        {"model": "gpt-x", "temperature": 0},
        "{{ env.KEY }}",
    )
    assert resolve_references("{{ env.KEY }}", {"KEY": "k"}) == "k"
    assert (file.read("named").provider, dict(file.read("named").settings)) == ("gemini", {"model": "gemini-x"})
    with pytest.raises(EvalFileError, match="the target 'openai' must name its 'provider'"):
        file.read("openai")


def test_references_are_filled_in() -> None:
    assert resolve_references(" https://${{ HOST }}/${{PATH}} ", {"HOST": "h", "PATH": "p"}) == "https://h/p"
    for environ in ({}, {"HOST": ""}):
        with pytest.raises(KeyError, match="HOST"):
            resolve_references("${{ HOST }}", environ)


def test_a_key_that_appears_twice_is_an_error(project: Project) -> None:
    path = project.write(".agentv/targets.yaml", "targets:\n  - {name: t, provider: gemini, name: u}\n")
    with pytest.raises(EvalFileError, match="2:33: the key 'name' appears twice, first on line 2"):
        read_targets_file(path, project.root)
