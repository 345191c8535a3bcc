"""Old requests: what a revision's snapshot shows is sent again as it was, or it is said why it cannot be."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    CLIProvider,
    GeminiProvider,
    OpenAIProvider,
    ProviderRequest,
    ProviderResponse,
)
from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.preview import preview_prepared
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.old_request import NotComparableError, request_part, restored_exchange
from pytest_chatprompt.snapshots.revision import Revision
from tests.git_repository import Git, commit_all
from tests.media import PNG

NO_MASKS = Masks()
OLD_PICTURE = PNG + b"of the old days"


@pytest.fixture
def revision(git: Git, tmp_path: Path) -> Iterator[Revision]:
    """A commit with a picture in it."""
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/old.png").write_bytes(OLD_PICTURE)
    (tmp_path / "pictures/as-long.png").write_bytes(OLD_PICTURE[:-1] + b"!")
    commit_all(git, tmp_path)
    (tmp_path / "pictures/old.png").unlink()
    opened = Revision.open("main", tmp_path)
    yield opened
    opened.close()


def sent_by(provider: ChatProvider, text: str = "hello") -> Exchange:
    """What a provider sends for a text."""
    return preview_prepared(provider, ProviderRequest(chat_prompt=(ChatMessage("user", text),)))


def old(exchange: Exchange, masks: Masks = NO_MASKS, **changed: Any) -> dict[str, Any]:
    """What a snapshot shows of the only request of an exchange, with some of its body changed."""
    shown = json.loads(json.dumps(exchange.sent[0].as_data()))
    shown["request"] |= changed
    return request_part(masks.apply({"provider": "any", "question": "any", **shown}))


def parts(*contents: bytes, encode: Callable[[bytes], bytes] = base64.b64encode) -> list[dict[str, Any]]:
    """Messages with pictures."""
    urls = [f"data:image/png;base64,{encode(content).decode()}" for content in contents]
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}} for url in urls]}]


def test_the_old_body_is_sent_to_the_same_api(revision: Revision) -> None:
    provider = OpenAIProvider(base_url="https://gateway.example/v1", api_key="sk-any")
    present = sent_by(provider)
    messages = [{"role": "user", "content": "the old text \\<5 bytes, sha256:0123456789abcdef>\n"}]
    body = {**present.sent[0].body, "model": "gpt-old", "messages": messages, "temperature": 0.0, "seed": None}
    restored = restored_exchange(old(present, **body), present, provider, Masks(), revision)
    assert restored.prepared is not None
    assert restored.prepared.url == "https://gateway.example/v1/chat/completions"
    assert restored.prepared.content == json.dumps(body, separators=(",", ":")).encode()
    assert restored.prepared.target == "the model 'gpt-old' and the base URL https://gateway.example/v1"
    assert restored.prepared.billing is not None
    assert restored.prepared.billing.model == "gpt-old"
    assert restored.sent[0].as_data() == {"endpoint": "POST /chat/completions", "request": body}
    # The present request stays as it is.
    assert provider.model != "gpt-old"


def test_a_model_in_the_path_is_the_old_one(revision: Revision) -> None:
    provider = GeminiProvider(api_key="any")
    present = sent_by(provider)
    request = {**old(present), "endpoint": present.sent[0].endpoint.replace(provider.model, "gemini-old")}
    restored = restored_exchange(request, present, provider, Masks(), revision)
    assert restored.prepared is not None
    assert "/gemini-old:generateContent" in restored.prepared.url
    assert restored.prepared.billing is not None
    assert restored.prepared.billing.model == "gemini-old"


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_media_are_those_of_the_present_request_or_of_a_file_of_the_revision(
    revision: Revision, encode: Callable[[bytes], bytes]
) -> None:
    provider = OpenAIProvider()
    shared = PNG + b"\xff\xfe\xfd" * 7
    shown = sent_by(provider)
    present = shown._replace(
        sent=(
            shown.sent[0].of_post(
                "https://api.openai.com/v1/chat/completions",
                json.dumps({**shown.sent[0].body, "messages": parts(shared)}).encode(),
                "https://api.openai.com/v1",
                {},
            ),
        )
    )
    messages = parts(OLD_PICTURE, shared, encode=encode)
    request = old(shown, messages=messages)
    assert "sha256" in request["request"]["messages"][0]["content"][0]["image_url"]["url"]
    restored = restored_exchange(request, present, provider, Masks(), revision)
    assert restored.sent[0].body["messages"] == messages


def test_bytes_that_git_does_not_have_are_named(revision: Revision) -> None:
    provider = OpenAIProvider()
    present = sent_by(provider)
    request = old(present, messages=parts(PNG + b"gone"))
    with pytest.raises(NotComparableError) as caught:
        restored_exchange(request, present, provider, Masks(), revision)
    assert str(caught.value).startswith(f"git has no file at main with its {len(PNG) + 4} bytes, sha256:")


@pytest.mark.parametrize(
    ("masks", "then", "now", "shown"),
    [
        pytest.param({r"\d{4}-\d\d-\d\d": "<date>"}, "on 2026-01-02", "none", "<date>", id="a text"),
        pytest.param({r"(\d{4})-\d\d-\d\d": r"<\1>"}, "on 2026-01-02", "on 2026-05-06", "<2026>", id="a group"),
        pytest.param({r"\d+": lambda match: "#" * len(match[0])}, "at 12:34", "at 56:78", "##", id="a function"),
        pytest.param({r"\d+": ""}, "at 12", "at 5678", "", id="nothing at all"),
    ],
)
def test_a_mask_in_the_old_request_is_named(
    revision: Revision, masks: dict[Any, Any], then: str, now: str, shown: str
) -> None:
    provider, parsed = OpenAIProvider(model="any"), Masks.from_mapping(masks)
    with pytest.raises(NotComparableError) as caught:
        restored_exchange(old(sent_by(provider, then), parsed), sent_by(provider, now), provider, parsed, revision)
    assert str(caught.value) == f"its snapshot at main shows what a mask has hidden: {shown!r}"


def test_a_mask_that_hid_nothing_is_no_obstacle(revision: Revision) -> None:
    provider = OpenAIProvider(model="any")
    masks = Masks.from_mapping({r"\d{4}-\d\d-\d\d": "<date>", r"(\d+) h": r"\1 hours", "never": ""})
    exchange = restored_exchange(
        old(sent_by(provider, "then"), masks), sent_by(provider, "on 2026-05-06"), provider, masks, revision
    )
    assert exchange.sent[0].body["messages"][-1]["content"] == "then"


def test_a_request_to_another_api_is_named(revision: Revision) -> None:
    with pytest.raises(NotComparableError, match="at main it went to another API: POST /v1/messages"):
        restored_exchange(
            old(sent_by(AnthropicProvider())), sent_by(OpenAIProvider()), OpenAIProvider(), Masks(), revision
        )


def test_a_request_with_other_headers_is_named(revision: Revision) -> None:
    present = sent_by(AnthropicProvider())
    request = {**old(present), "headers": {"anthropic-beta": "old"}}
    with pytest.raises(NotComparableError, match="at main it had other headers than now: anthropic-beta"):
        restored_exchange(request, present, AnthropicProvider(), Masks(), revision)


def captured(url: str, body: Any) -> Exchange:
    """What a provider of your own has sent to a server of its own."""
    sent = SentRequest(f"POST {url}", body, url=f"https://app.example{url}")
    return Exchange(ProviderRequest(question="any"), ProviderResponse(text=""), (sent,), in_place_of=sent)


def test_a_request_to_your_own_server_is_sent_again_as_text_or_json(revision: Revision) -> None:
    for body, old_body in (({"ask": "new"}, {"ask": "old"}), ("new", "old")):
        present = captured("/ask", body)
        restored = restored_exchange(
            {"endpoint": "POST /ask", "request": old_body}, present, CLIProvider(["any"]), NO_MASKS, revision
        )
        assert (restored.sent[0].body, restored.in_place_of) == (old_body, present.sent[0])


@pytest.mark.parametrize(
    ("url", "then", "old_body", "reason"),
    [
        ("/ask", "/say", {}, "at main it went to another API: POST /say"),
        ("/v1/messages?a=1", "/v1/messages?a=2", {}, "at main it had another query: POST /v1/messages[?]a=2"),
        ("/ask", "/ask", {"base64": "AA=="}, "what it sends is neither JSON nor text"),
        ("/ask", "/ask", None, "what it sends is neither JSON nor text"),
    ],
)
def test_what_your_own_client_cannot_send_again_is_named(
    revision: Revision, url: str, then: str, old_body: Any, reason: str
) -> None:
    request = {"endpoint": f"POST {then}", "request": old_body}
    with pytest.raises(NotComparableError, match=reason):
        restored_exchange(request, captured(url, {}), CLIProvider(["any"]), NO_MASKS, revision)
