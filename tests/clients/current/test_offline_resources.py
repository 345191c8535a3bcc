"""Models, files and moderation as the SDKs of Mistral, Cohere and Groq read them offline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import cohere
import groq
import pytest
from mistralai.client import Mistral

from pytest_chatprompt.capture.eval_api import EvalAPI


@pytest.fixture
def api() -> Iterator[EvalAPI]:
    api = EvalAPI()
    with api.intercept():
        yield api


def test_mistral(api: EvalAPI) -> None:
    client = Mistral(api_key="x")
    assert [model.id for model in client.models.list().data or []] == ["offline"]
    assert client.models.retrieve(model_id="mistral-x").id == "mistral-x"
    file = client.files.upload(file={"file_name": "a.txt", "content": b"hello"}, purpose="ocr")
    assert (file.filename, file.size_bytes, file.purpose) == ("a.txt", 5, "ocr")
    assert client.files.retrieve(file_id=file.id).id == file.id
    assert [each.id for each in client.files.list().data] == [file.id]
    assert client.files.download(file_id=file.id).read() == b"hello"
    assert client.files.delete(file_id=file.id).deleted
    one, _ = client.classifiers.moderate(model="m", inputs=["a", "b"]).results
    assert (one.categories or {})["pii"] is False

    async def ask() -> None:
        await client.files.upload_async(file={"file_name": "a.txt", "content": b"hello"})
        assert len((await client.files.list_async()).data) == 1

    asyncio.run(ask())
    assert [sent.endpoint for sent in api.sent] == ["POST /v1/files", "POST /v1/moderations", "POST /v1/files"]


def test_mistral_at_a_gateway(api: EvalAPI) -> None:
    client = Mistral(api_key="x", server_url="https://gateway.example")
    assert [type(model).__name__ for model in client.models.list().data or []] == ["BaseModelCard"]
    assert client.files.list().data == []
    assert (client.classifiers.moderate(model="m", inputs="a").results[0].categories or {})["pii"] is False
    assert api.errors == []


def test_mistrals_embeddings_have_the_dimension_that_is_asked_for(api: EvalAPI) -> None:
    found = Mistral(api_key="x").embeddings.create(model="codestral-embed", inputs=["a", "b"], output_dimension=12)
    assert [len(each.embedding or []) for each in found.data] == [12, 12]
    assert [sent.body["output_dimension"] for sent in api.sent] == [12]


def test_cohere_and_groq(api: EvalAPI) -> None:
    client = cohere.ClientV2(api_key="x")
    assert [model.name for model in client.models.list().models] == ["offline"]
    assert client.models.get("command-x").name == "command-x"
    other = groq.Groq(api_key="x")
    assert [model.id for model in other.models.list().data] == ["offline"]
    assert other.files.create(file=("a", b"x"), purpose="batch").bytes == 1
    assert [sent.endpoint for sent in api.sent] == ["POST /openai/v1/files"]
