"""Models, counts of tokens, moderation, files and images: answered offline as the vendors' SDKs read them."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai

from pytest_chatprompt.capture.eval_api import EvalAPI
from tests.capture.clients.echo_server import EchoServer

PNG = b"\x89PNG\r\n\x1a\n"
# What text editors and parsers of mail would change.
ODD_BYTES = b'{"a": 1}\n\r\n\r\x00\xff--boundary\r\n'


@pytest.fixture
def api() -> Iterator[EvalAPI]:
    api = EvalAPI()
    with api.intercept():
        yield api


def endpoints(api: EvalAPI) -> list[str]:
    assert {sent.answered_by for sent in api.sent} <= {"default"}
    assert api.errors == []
    return [sent.endpoint for sent in api.sent]


# --- OpenAI


@pytest.fixture
def client() -> openai.OpenAI:
    return openai.OpenAI(api_key="x")


def test_models_of_openai(api: EvalAPI, client: openai.OpenAI) -> None:
    (listed,) = client.models.list()
    model = client.models.retrieve("ft:gpt-5:me::1")
    assert (listed.id, model.id, model.object) == ("offline", "ft:gpt-5:me::1", "model")
    # They carry nothing that a model sees.
    assert endpoints(api) == []


def test_files_of_openai(api: EvalAPI, client: openai.OpenAI) -> None:
    file = client.files.create(file=("a.jsonl", ODD_BYTES), purpose="batch")
    assert (file.filename, file.bytes, file.purpose, file.status) == ("a.jsonl", len(ODD_BYTES), "batch", "processed")
    assert client.files.retrieve(file.id) == file == client.files.wait_for_processing(file.id)
    assert list(client.files.list()) == [file]
    assert client.files.content(file.id).content == ODD_BYTES
    assert client.files.delete(file.id).deleted
    assert list(client.files.list()) == []
    assert endpoints(api) == ["POST /v1/files"]
    (sent,) = api.sent
    assert [part["headers"]["Content-Disposition"] for part in sent.body["multipart"]] == [
        'form-data; name="purpose"',
        'form-data; name="file"; filename="a.jsonl"',
    ]


def test_a_file_has_the_same_id_each_time_and_one_of_its_own(api: EvalAPI, client: openai.OpenAI) -> None:
    ids = [
        client.files.create(file=(name, content), purpose="user_data").id
        for name, content in [("a", b"1"), ("b", b"1"), ("a", b"2"), ("a", b"1")]
    ]
    assert ids[0] == ids[3]
    assert len(set(ids)) == 3
    assert len(list(client.files.list())) == 3
    api.clear_sent()
    assert list(client.files.list()) == []


def test_a_file_that_is_there_already_is_made_up(api: EvalAPI, client: openai.OpenAI) -> None:
    file = client.files.retrieve("file-of-production")
    assert (file.id, file.filename, file.status) == ("file-of-production", "file.txt", "processed")
    assert client.files.content("file-of-production").text == "(offline)"
    assert client.files.delete("file-of-production").deleted
    assert endpoints(api) == []


def test_moderation_of_openai(api: EvalAPI, client: openai.OpenAI) -> None:
    one, two = client.moderations.create(input=["a", "b"]).results
    assert (one.flagged, one.categories.self_harm_intent, one.category_scores.violence_graphic) == (False, False, 0.0)
    assert one == two
    assert one.category_applied_input_types.sexual == []
    parts: Any = [
        {"type": "text", "text": "x"},
        {"type": "image_url", "image_url": {"url": "https://a.example/a.png"}},
    ]
    reply = client.moderations.create(model="omni-moderation-latest", input=parts)
    assert (reply.model, len(reply.results)) == ("omni-moderation-latest", 1)
    assert endpoints(api) == ["POST /v1/moderations"] * 2
    assert api.sent[0].body == {"input": ["a", "b"]}


def test_images_of_openai(api: EvalAPI, client: openai.OpenAI) -> None:
    two = client.images.generate(model="gpt-image-1", prompt="A cat", n=2).data or []
    assert [base64.b64decode(image.b64_json or "")[:8] for image in two] == [PNG, PNG]
    (linked,) = client.images.generate(model="dall-e-3", prompt="A cat").data or []
    assert linked.url == "https://images.offline.invalid/image.png"
    (inline,) = client.images.generate(model="dall-e-3", prompt="A cat", response_format="b64_json").data or []
    assert inline.b64_json
    edited = client.images.edit(image=("a.png", PNG, "image/png"), prompt="Black", n=3).data or []
    assert len(edited) == 3
    assert endpoints(api) == [*["POST /v1/images/generations"] * 3, "POST /v1/images/edits"]


def test_streams_of_images(api: EvalAPI, client: openai.OpenAI) -> None:
    made = list(client.images.generate(model="gpt-image-1", prompt="A cat", stream=True))
    edited = list(client.images.edit(image=("a.png", PNG, "image/png"), prompt="Black", stream=True))
    assert [event.type for event in made + edited] == ["image_generation.completed", "image_edit.completed"]
    assert base64.b64decode(made[0].b64_json)[:8] == PNG
    assert len(endpoints(api)) == 2


def test_tokens_that_responses_count(api: EvalAPI, client: openai.OpenAI) -> None:
    count = client.responses.input_tokens.count(model="gpt-5", input="word " * 80)
    assert (count.input_tokens, count.object) == (100, "response.input_tokens")
    assert endpoints(api) == ["POST /v1/responses/input_tokens"]


def test_openais_async_client(api: EvalAPI) -> None:
    async def ask() -> None:
        client = openai.AsyncOpenAI(api_key="x")
        assert [model.id async for model in client.models.list()] == ["offline"]
        file = await client.files.create(file=("b.txt", b"hey"), purpose="user_data")
        assert [each async for each in client.files.list()] == [file]
        assert (await client.files.content(file.id)).text == "hey"
        assert not (await client.moderations.create(input="x")).results[0].flagged
        assert (await client.images.generate(prompt="x")).data

    asyncio.run(ask())
    assert endpoints(api) == ["POST /v1/files", "POST /v1/moderations", "POST /v1/images/generations"]


def test_azure(api: EvalAPI) -> None:
    client = openai.AzureOpenAI(api_key="x", azure_endpoint="https://me.openai.azure.com", api_version="2025-04-01")
    assert [model.id for model in client.models.list()] == ["offline"]
    file = client.files.create(file=("a", b"x"), purpose="batch")
    assert client.files.retrieve(file.id).bytes == 1
    assert client.images.generate(model="dall-e-3", prompt="x").data
    assert endpoints(api) == [
        "POST /openai/files?api-version=2025-04-01",
        "POST /openai/deployments/dall-e-3/images/generations?api-version=2025-04-01",
    ]


# --- Anthropic


def test_anthropic(api: EvalAPI) -> None:
    client = anthropic.Anthropic(api_key="x")
    (listed,) = client.models.list()
    assert (listed.id, client.models.retrieve("claude-x").display_name) == ("offline", "claude-x")
    messages: Any = [{"role": "user", "content": "word " * 8}]
    assert client.messages.count_tokens(model="claude-x", system="word " * 8, messages=messages).input_tokens == 20
    assert client.beta.messages.count_tokens(model="claude-x", messages=messages).input_tokens == 10
    file = client.beta.files.upload(file=("a.pdf", b"%PDF", "application/pdf"))
    assert (file.filename, file.mime_type, file.size_bytes) == ("a.pdf", "application/pdf", 4)
    assert client.beta.files.retrieve_metadata(file.id) == file
    assert list(client.beta.files.list()) == [file]
    assert client.beta.files.download(file.id).read() == b"%PDF"
    assert client.beta.files.delete(file.id).type == "file_deleted"
    assert list(client.beta.files.list()) == []
    assert [each.partition("?")[0] for each in endpoints(api)] == [
        "POST /v1/messages/count_tokens",
        "POST /v1/messages/count_tokens",
        "POST /v1/files",
    ]


def test_anthropics_async_client_and_vertex(api: EvalAPI) -> None:
    async def ask() -> None:
        client = anthropic.AsyncAnthropic(api_key="x")
        assert [model.id async for model in client.models.list()] == ["offline"]
        file = await client.beta.files.upload(file=("a.pdf", b"%PDF", "application/pdf"))
        assert [each.id async for each in client.beta.files.list()] == [file.id]
        count = await client.messages.count_tokens(model="claude-x", messages=[{"role": "user", "content": "Hi"}])
        assert count.input_tokens > 0

    asyncio.run(ask())
    request = "/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict"
    reply = httpx.post(f"https://us-east5-aiplatform.googleapis.com{request}", json={"messages": []})
    assert reply.json()["input_tokens"] == 1
    assert len(endpoints(api)) == 3


# --- Gemini


def test_gemini(api: EvalAPI, tmp_path: Path) -> None:
    client = genai.Client(api_key="x")
    assert [model.name for model in client.models.list()] == ["models/offline"]
    assert client.models.get(model="gemini-x").name == "models/gemini-x"
    assert client.models.count_tokens(model="gemini-x", contents="x" * 40).total_tokens == 10
    (tmp_path / "a.txt").write_text("hello")
    file = client.files.upload(file=tmp_path / "a.txt", config={"display_name": "A text"})
    assert (file.display_name, file.mime_type, file.size_bytes) == ("A text", "text/plain", 5)
    assert file.state is not None
    assert file.state.name == "ACTIVE"
    name = str(file.name)
    assert client.files.get(name=name).uri == file.uri
    assert [each.name for each in client.files.list()] == [name]
    reply = httpx.get(f"{file.uri}:download?alt=media")
    assert reply.text == "hello"
    client.files.delete(name=name)
    assert list(client.files.list()) == []
    assert [each.partition("?")[0] for each in endpoints(api)] == [
        "POST /v1/models/gemini-x:countTokens",
        "POST /upload/v1/files",
        "POST /upload/v1/files",
    ]


def test_a_file_that_comes_to_gemini_in_pieces(api: EvalAPI) -> None:
    content = b"x" * (8 * 2**20 + 1)
    client = genai.Client(api_key="x")
    file = client.files.upload(file=io.BytesIO(content), config={"mime_type": "text/plain", "name": "mine"})
    assert (file.name, file.size_bytes) == ("files/mine", len(content))
    assert len(endpoints(api)) == 3


@pytest.mark.parametrize("url", ["https://gateway.example", "http://127.0.0.1:9"])
def test_a_file_that_comes_to_gemini_through_a_gateway(api: EvalAPI, url: str) -> None:
    client = genai.Client(api_key="x", http_options={"base_url": url})
    file = client.files.upload(file=io.BytesIO(b"%PDF"), config={"mime_type": "application/pdf"})
    assert file.size_bytes == 4
    assert len(endpoints(api)) == 2


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_geminis_async_client(api: EvalAPI, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")

    async def ask() -> None:
        client = genai.Client(api_key="x").aio
        assert [model.name async for model in await client.models.list()] == ["models/offline"]
        assert (await client.models.count_tokens(model="gemini-x", contents="x" * 40)).total_tokens == 10
        file = await client.files.upload(file=tmp_path / "a.txt")
        assert (await client.files.get(name=str(file.name))).size_bytes == 5
        await client.aclose()

    asyncio.run(ask())
    assert len(endpoints(api)) == 3


# --- whose requests these are


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("GET", "https://shop.example/v1/models"),
        ("POST", "https://shop.example/v1/files"),
        ("GET", "https://openai.com.example/v1/models"),
        ("GET", "https://notopenai.com/v1/models"),
        ("PUT", "https://api.openai.com/v1/models"),
        ("DELETE", "https://api.openai.com/v1/models/mine"),
        ("GET", "https://api.mistral.ai/v1/files/mine/url"),
        ("GET", "https://images.offline.invalid/image.png"),
        ("GET", "https://api.openai.com/v1/vector_stores/vs/files"),
        ("POST", "https://api.openai.com/v1/batches"),
    ],
)
def test_what_only_looks_like_it_needs_a_route(api: EvalAPI, method: str, url: str) -> None:
    reply = httpx.request(method, url)
    assert reply.status_code == 404
    assert f"nothing answers {method} {url} offline" in reply.text
    assert [str(error).partition(" offline;")[0] for error in api.errors] == [f"nothing answers {method} {url}"]


@pytest.mark.parametrize(
    ("method", "url", "status"),
    [
        # A thread of OpenAI's Agents SDK sends what it has seen, some seconds later.
        ("POST", "https://api.openai.com/v1/traces/ingest", 200),
        # huggingface_hub asks once a day, and keeps a good answer in its cache.
        ("GET", "https://huggingface.co/api/agent-harnesses", 404),
        # litellm asks when it is imported, and has a list of its own.
        ("GET", "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json", 404),
    ],
)
def test_what_sdks_ask_and_report_for_themselves_is_no_part_of_a_test(
    api: EvalAPI, method: str, url: str, status: int
) -> None:
    assert httpx.request(method, url).status_code == status
    assert (api.sent, api.errors) == ((), [])


@pytest.mark.usefixtures("api")
def test_a_server_of_ones_own_is_left_alone_but_for_what_a_vendors_sdk_asks(echo_server: EchoServer) -> None:
    assert httpx.get(f"{echo_server.url}/v1/models").json()["path"] == "/v1/models"
    assert httpx.post(f"{echo_server.url}/v1/files", json={}).json()["path"] == "/v1/files"
    client = openai.OpenAI(api_key="x", base_url=f"{echo_server.url}/v1")
    assert [model.id for model in client.models.list()] == ["offline"]
    gateway = openai.OpenAI(api_key="x", base_url="https://gateway.example/v1")
    assert gateway.models.retrieve("mine").id == "mine"
    agent = {"user-agent": "mistral-client-python/3.7.0"}
    assert httpx.get("https://gateway.example/v1/models/mine", headers=agent).json()["type"] == "base"


def test_a_route_comes_first_and_its_requests_are_kept(api: EvalAPI, client: openai.OpenAI) -> None:
    api.get("https://api.openai.com/v1/models").respond(json={"object": "list", "data": []})
    assert list(client.models.list()) == []
    assert [(sent.endpoint, sent.answered_by) for sent in api.sent] == [("GET /v1/models", "route")]


def test_queued_replies_are_for_models(api: EvalAPI, client: openai.OpenAI) -> None:
    api.reply("Hello")
    client.moderations.create(input="x")
    assert client.responses.create(model="gpt-5", input="x").output_text == "Hello"


def test_in_a_live_run_they_go_to_the_api_and_only_contents_are_kept(echo_server: EchoServer) -> None:
    api = EvalAPI(is_live=True)
    client = openai.OpenAI(api_key="x", base_url=f"{echo_server.url}/v1")
    with api.intercept():
        assert client.models.with_raw_response.list().http_response.json()["path"] == "/v1/models"
        assert client.moderations.with_raw_response.create(input="x").http_response.json()["path"] == "/v1/moderations"
    assert [(sent.endpoint, sent.answered_by) for sent in api.sent] == [("POST /v1/moderations", "network")]


@pytest.mark.parametrize(
    ("body", "content_type", "name"),
    [
        pytest.param(b"{}", "application/json", "file", id="no form"),
        pytest.param(b"broken", "multipart/form-data", "file", id="a form without a boundary"),
        pytest.param(b"--b--\r\n", "multipart/form-data; boundary=b", "file", id="an empty form"),
        pytest.param(
            b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nx\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
            "file",
            id="a file without a name",
        ),
    ],
)
def test_an_upload_that_is_put_together_by_hand(api: EvalAPI, body: bytes, content_type: str, name: str) -> None:
    reply = httpx.post("https://api.openai.com/v1/files", content=body, headers={"content-type": content_type})
    assert (reply.json()["filename"], reply.json()["purpose"]) == (name, "user_data")
    assert len(endpoints(api)) == 1


def test_the_other_vendors(api: EvalAPI) -> None:
    # `tests/clients/current` asks with their SDKs.
    mistral = httpx.get("https://api.mistral.ai/v1/models").json()["data"][0]
    assert (mistral["type"], mistral["capabilities"]) == ("base", {"completion_chat": True})
    file = httpx.post("https://api.mistral.ai/v1/files", files={"file": ("a.txt", b"x")}).json()
    assert (file["filename"], file["sample_type"], file["source"]) == ("a.txt", "instruct", "upload")
    moderation = httpx.post("https://api.mistral.ai/v1/chat/moderations", json={"input": [{"role": "user"}]}).json()
    assert "pii" in moderation["results"][0]["categories"]
    cohere = httpx.get("https://api.cohere.com/v1/models", headers={"X-Fern-SDK-Name": "cohere"}).json()
    assert cohere["models"][0]["name"] == "offline"
    assert httpx.get("https://api.groq.com/openai/v1/models/llama").json()["id"] == "llama"
    assert endpoints(api) == ["POST /v1/files", "POST /v1/chat/moderations"]
