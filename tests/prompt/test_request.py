"""The request of a case (rule E1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from pytest_chatprompt import ChatMessage, EvalCase, EvalFileError, Provider, ProviderRequest, ProviderResponse
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.request import build_request
from tests.conftest import Project

CODE_CASE = EvalCase.model_validate(
    {"id": "a", "input_messages": [{"role": "user", "content": [{"type": "file", "value": "x.md"}]}]}
)


def test_e1_every_field_of_a_request_has_a_default() -> None:
    request = ProviderRequest()
    assert (request.question, request.chat_prompt, request.guidelines, request.input_files) == ("", None, (), ())
    assert (request.metadata, request.eval_case_id) == ({}, None)


def test_a_chat_prompt_can_be_given_as_json_data() -> None:
    request = ProviderRequest.model_validate({"chat_prompt": [{"role": "user", "content": "hi"}]})
    assert request.chat_prompt == (ChatMessage("user", "hi"),)


def test_a_misspelled_field_is_an_error() -> None:
    with pytest.raises(ValidationError):
        ProviderRequest.model_validate({"chatPrompt": []})


def test_e1_every_case_fills_every_field(project: Project) -> None:
    project.write("evals/b.guide.md", "B")
    project.write("evals/x.py", "1")
    project.write("a.guide.md", "A")
    request = project.request(
        """
guideline_patterns: ["**/*.guide.md"]
metadata: {owner: me}
input_messages:
  - {role: system, content: [{type: file, value: b.guide.md}]}
  - role: user
    content: [{type: text, value: hi}, {type: file, value: x.py}, {type: file, value: ../a.guide.md}, {type: file, value: ./x.py}]
expected_messages: [{role: assistant, content: [{type: file, value: never-looked-for.md}]}]
"""
    )
    assert request.question.startswith("hi\n=== x.py ===")
    assert request.chat_prompt is not None
    assert [message.role for message in request.chat_prompt] == ["system", "user"]
    assert request.guidelines == ("B", "A")
    assert [path.relative_to(project.root).as_posix() for path in request.input_files] == [
        "evals/b.guide.md",
        "evals/x.py",
        "a.guide.md",
    ]
    assert [path.relative_to(project.root).as_posix() for path in request.guideline_files] == [
        "evals/b.guide.md",
        "a.guide.md",
    ]
    assert request.metadata == {"owner": "me"}
    assert request.eval_case_id == "a"


def test_e1_the_projects_system_prompt_is_in_the_metadata_if_the_author_set_none(project: Project) -> None:
    hi = "input_messages: [{role: user, content: hi}]"
    assert project.request(hi, project_system_prompt="Ours.").metadata == {"systemPrompt": "Ours."}
    own = f"metadata: {{systemPrompt: ''}}\n{hi}"
    assert project.request(own, project_system_prompt="Ours.").metadata == {"systemPrompt": ""}
    assert project.request(hi).metadata == {}


def test_an_object_with_a_send_method_is_a_provider() -> None:
    class Echo:
        def send(self, request: ProviderRequest) -> ProviderResponse:
            return ProviderResponse(text=request.question)

    assert isinstance(Echo(), Provider)
    assert Echo().send(ProviderRequest(question="hi")).text == "hi"


def test_a_case_made_in_code_needs_no_reader_and_finds_its_files_beside_the_running_test(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("tests/x.md", "beside the test")
    project.write("tests/test_it.py", "")
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/test_it.py::test_it (call)")
    request = build_request(CODE_CASE)
    assert request.input_files == (project.root / "tests/x.md",)
    assert request.eval_case_id == "a"
    assert build_request(CODE_CASE, FileReader(project.root)).input_files == request.input_files


def test_the_folder_and_the_root_of_a_case_made_in_code_may_be_said(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    project.write("data/x.md", "in the folder")
    monkeypatch.chdir(project.root)
    assert build_request(CODE_CASE, folder=Path("data")).input_files == (project.root / "data/x.md",)
    assert build_request(CODE_CASE, folder=Path("data"), root=Path("data")).input_files == (project.root / "data/x.md",)
    project.write("other/empty", "")
    with pytest.raises(EvalFileError, match=r"outside the root folder"):
        build_request(CODE_CASE, folder=Path("data"), root=Path("other"))
    monkeypatch.chdir(project.root / "other")
    with pytest.raises(EvalFileError, match=r"outside the root folder"):
        build_request(CODE_CASE, folder=Path("../data"))
    assert build_request(CODE_CASE, folder=Path("../data"), root=project.root).input_files


def test_a_case_of_a_file_needs_no_reader_either(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("evals/x.md", "beside the eval file")
    case = project.case("input_messages: [{role: user, content: [{type: file, value: x.md}]}]")
    monkeypatch.chdir(project.root)
    assert build_request(case).input_files == (project.root / "evals/x.md",)
    # A reader that the run has already is kept, with its root.
    with pytest.raises(EvalFileError, match=r"outside the root folder"):
        build_request(case, FileReader(project.root / "other"), root=project.root)
