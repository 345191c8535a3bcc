"""Images, documents and sounds in a run: snapshots without the bytes, requests with them, errors at their parts."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.media import PDF, PNG, PNG_SHOWN, data_url, in_base64
from tests.replies import plain_reply
from tests.runs.conftest import MakeLiveProject, Run
from tests.server import Server

LOOK = """
provider: [openai, azure, anthropic, gemini, codex, plain]
evalcases:
  - id: look
    metadata: {systemPrompt: Look.}
    input_messages:
      - role: user
        content:
          - {type: text, value: "What is this?"}
          - {type: image, value: ./screen.png}
"""
PLAIN = """
import pytest

@pytest.fixture
def plain_provider():
    return lambda request: "an answer"
"""
SHOWN = f"<{PNG_SHOWN}>"
URL_SHOWN = f"data:image/png;base64,<{PNG_SHOWN.removeprefix('image/png, ')}>"


def write_bytes(run: Run, name: str, content: bytes) -> None:
    path = run.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def content_of(snapshot: dict[str, Any]) -> Any:
    """The content of the user's message in a snapshot."""
    request = snapshot.get("request", snapshot)
    message = (request.get("messages") or request["contents"])[-1]
    return message.get("content") or message["parts"]


def test_a_snapshot_shows_type_size_and_hash_in_place_of_the_bytes(run: Run) -> None:
    run.write({"evals/a.eval.yaml": LOOK, "conftest.py": PLAIN})
    write_bytes(run, "evals/screen.png", PNG)
    run.update().assert_outcomes(passed=6)
    folder = "evals/__snapshots__/a.eval/"
    providers = ("openai", "azure", "anthropic", "gemini", "codex", "plain")
    snapshots = {name: run.snapshot(f"{folder}look[{name}].yaml") for name in providers}
    assert {snapshot["question"] for snapshot in snapshots.values()} == {"What is this?\n<Image: ./screen.png>"}
    openai_content = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": URL_SHOWN}}]
    assert content_of(snapshots["openai"]) == content_of(snapshots["azure"]) == openai_content
    source = {"type": "base64", "media_type": "image/png", "data": SHOWN}
    text = {"type": "text", "text": "What is this?"}
    assert content_of(snapshots["anthropic"]) == [text, {"type": "image", "source": source}]
    assert content_of(snapshots["gemini"]) == [
        {"text": "What is this?"},
        {"inlineData": {"mimeType": "image/png", "data": SHOWN}},
    ]
    assert content_of(snapshots["plain"]) == [
        {"type": "text", "value": "What is this?"},
        {"type": "image", "value": URL_SHOWN},
    ]
    assert snapshots["codex"]["files"] == ["evals/screen.png"]
    assert all("adjustments" not in snapshot for snapshot in snapshots.values())
    run().assert_outcomes(passed=6)
    # One byte more: whoever sends the bytes fails, with the line of the image alone as the difference.
    write_bytes(run, "evals/screen.png", PNG + b"\0")
    result = run("-k", "anthropic")
    result.assert_outcomes(failed=1, deselected=5)
    changed = [line.strip() for line in result.outlines if line.startswith(("-  ", "+  "))]
    assert len(changed) == 2
    assert changed[0].endswith(f"data: {SHOWN}")
    assert "data: <image/png, 71 bytes, sha256:" in changed[1]


MISTAKES = """
evalcases:
  - id: sound
    provider: anthropic
    input_messages:
      - {role: user, content: hi}
      - role: user
        content:
          - {type: text, value: " "}
          - {type: audio, value: "data:audio/wav;base64,UklGRiQAAABXQVZF"}
  - id: system
    provider: gemini
    input_messages:
      - {role: system, content: One.}
      - {role: system, content: [{type: image, value: "https://x.example/a.png"}]}
      - {role: user, content: hi}
  - id: parametrized
    provider: azure
    parametrize: [{id: one, name: a.pdf}]
    input_messages:
      - {role: user, content: [{type: document, value: "https://x.example/{{ name }}"}]}
  - id: too-many
    provider: azure
    input_messages:
      - role: user
        content: [IMAGES]
  - id: codex
    provider: codex
    input_messages:
      - {role: user, content: [{type: image, value: "DATA"}, {type: image, value: "https://x.example/a.png"}]}
"""


def test_what_an_api_does_not_take_fails_at_the_line_of_the_part(run: Run) -> None:
    text = MISTAKES.replace("DATA", data_url(PNG))
    text = text.replace("IMAGES", ", ".join(["{type: image, value: 'https://x.example/a.png'}"] * 51))
    run.write({"a.eval.yaml": text, "pytest.ini": "[pytest]\nfilterwarnings = default\n"})
    result = run("--snapshot-update")
    result.assert_outcomes(passed=2, failed=3, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:10:13: case 'sound': message 2: part 2: Anthropic takes no audio; "
            "it takes images and documents; leave it out, or use another provider",
            "a.eval.yaml:15:34: case 'system': message 2: part 1: Gemini takes images in user, assistant and tool messages "
            "only, and the role of this one is 'system'; move it to a user message",
            "a.eval.yaml:21:32: case 'parametrized[[]one]': message 1: part 1: Azure OpenAI takes no documents; "
            "it takes images and audio; leave it out, or use another provider",
            "*a.eval.yaml:25: PayloadWarning: message 1: Azure OpenAI takes up to 50 images in a request, and this one "
            "has 51; send fewer [[]image-count, https://learn.microsoft.com/*",
        ]
    )
    assert run.snapshot("__snapshots__/a.eval/codex[codex].yaml")["adjustments"] == [
        f"<Image: {PNG_SHOWN}> left out, an agent takes files and https URLs"
    ]


def test_a_live_run_sends_the_bytes_and_its_recording_has_none(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(1)
    server.reply_with(plain_reply("openai-chat"))
    case = "evalcases: [{id: c0, input_messages: [{role: user, content: [{type: image, value: x.png}]}]}]"
    run.write({"a.eval.yaml": f"provider: openai\n{case}\n"})
    write_bytes(run, "x.png", PNG)
    run.update()
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    ((_, _, body),) = server.requests
    assert body["messages"][-1]["content"] == [{"type": "image_url", "image_url": {"url": data_url(PNG)}}]
    recording = (run.path / "__snapshots__/a.eval/c0[openai].recording.yaml").read_text()
    assert f"url: {URL_SHOWN}\n" in recording
    assert in_base64(PNG) not in recording
    run("--chatprompt-replay").assert_outcomes(passed=1)
    write_bytes(run, "x.png", PNG + b"\0")
    run.update()
    run("--chatprompt-replay").assert_outcomes(errors=1)
    assert len(server.requests) == 1


OWN_CODE = """
import base64
import httpx

PNG = base64.b64decode("{png}")

def test_asks(eval_api, eval_snapshot):
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    content = [{{"type": "text", "text": "hi"}}, {{"type": "image_url", "image_url": {{"url": url}}}}]
    body = {{"model": "m", "messages": [{{"role": "user", "content": content}}]}}
    httpx.post("https://api.openai.com/v1/chat/completions", json=body)
    httpx.post("https://api.openai.com/v1/audio/transcriptions", files={{"file": ("a.png", PNG, "image/png")}})
    (chat, form) = eval_api.sent
    assert chat.body == body
    assert chat.question == "hi\\n<Image: image/png, 70 bytes>"
    assert eval_api.sent == eval_snapshot

def test_requests(eval_snapshot):
    from pytest_chatprompt import EvalCase, EvalMessage, ImagePart, build_request
    content = [ImagePart(value="data:image/png;base64," + base64.b64encode(PNG).decode())]
    case = EvalCase(id="a", input_messages=[EvalMessage(role="user", content=content)])
    assert build_request(case) == eval_snapshot
"""


def test_own_codes_media_are_shown_in_the_same_way(run: Run) -> None:
    conftest = (
        "import httpx, pytest\n\n@pytest.fixture(autouse=True)\ndef route(eval_api):\n"
        "    eval_api.post(path='/v1/audio/transcriptions').respond(json={})\n"
    )
    run.write({"test_it.py": OWN_CODE.format(png=base64.b64encode(PNG).decode()), "conftest.py": conftest})
    run.update().assert_outcomes(passed=2)
    sent = run.snapshot("__snapshots__/test_it/test_asks.yaml")["requests"]
    assert sent[0]["request"]["messages"][0]["content"][1] == {"type": "image_url", "image_url": {"url": URL_SHOWN}}
    (part,) = sent[1]["request"]["multipart"]
    assert part["content"] == {"base64": SHOWN}
    assert run.snapshot("__snapshots__/test_it/test_requests.yaml")["messages"] == [
        {"role": "user", "content": [{"type": "image", "value": URL_SHOWN}]}
    ]
    run().assert_outcomes(passed=2)


@pytest.mark.parametrize("name", ["report.pdf", "evals/deep/report.pdf"])
def test_a_document_is_found_as_files_are(run: Run, name: str) -> None:
    run.write(
        {
            "evals/deep/a.eval.yaml": "provider: gemini\nevalcases:\n  - id: a\n    input_messages:\n"
            "      - {role: user, content: [{type: document, value: report.pdf}]}\n"
        }
    )
    write_bytes(run, name, PDF)
    run.update().assert_outcomes(passed=1)
    snapshot = run.snapshot("evals/deep/__snapshots__/a.eval/a[gemini].yaml")
    assert content_of(snapshot)[0]["inlineData"]["data"].startswith(f"<application/pdf, {len(PDF)} bytes, sha256:")
    assert Path(run.path / name).read_bytes() == PDF
