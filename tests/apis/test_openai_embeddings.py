"""OpenAI's embeddings: the vectors that the official SDK reads."""

from __future__ import annotations

import math
from typing import Any

import openai
import pytest
from openai.types import CreateEmbeddingResponse

from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import get_api
from tests.apis.sdk_clients import Replies, ask, check_strictly
from tests.apis.test_openai_chat import client

PATH = "/v1/embeddings"


def embed(text: Any, reply: Reply | None = None, **more: Any) -> list[list[float]]:
    replies = Replies(*([reply] if reply else []))
    model = more.pop("model", "text-embedding-3-small")
    return [item.embedding for item in client(replies).embeddings.create(model=model, input=text, **more).data]


def test_a_reply_is_valid_by_the_type_of_the_sdk() -> None:
    found = check_strictly(CreateEmbeddingResponse, ask(PATH, {"input": ["a", "b"], "dimensions": 3}).content)
    assert [(item.index, len(item.embedding)) for item in found.data] == [(0, 3), (1, 3)]


def test_each_text_has_a_vector_of_length_1_that_depends_on_it_alone() -> None:
    [one], [again], [other] = embed("one"), embed(["one"]), embed("other")
    assert one == again
    assert one != other
    assert math.hypot(*one) == pytest.approx(1)
    assert (len(one), len(embed("one", model="text-embedding-3-large")[0])) == (1536, 3072)


def test_floats_and_base64_are_the_same_numbers() -> None:
    numbers, decoded = (
        embed("one", encoding_format="float")[0],
        embed("one", encoding_format="base64", dimensions=1536)[0],
    )
    assert not isinstance(decoded, str) or decoded
    assert embed("one")[0] == pytest.approx(numbers, abs=1e-7)


def test_tokens_are_one_text_or_several() -> None:
    assert len(embed([1, 2])) == 1
    assert len(embed([[1, 2], [3]])) == 2


@pytest.mark.parametrize("data", [[1.0, 0], [[1.0, 0]]])
def test_queued_vectors_are_given(data: Any) -> None:
    assert embed("one", Reply(json=data, usage={"input_tokens": 2})) == [[1.0, 0.0]]


def test_only_vectors_and_errors_are_for_embeddings() -> None:
    api = get_api("openai-embeddings")
    assert api.accepts(Reply(error=429))
    assert api.accepts(Reply(json=[0.5]))
    assert not api.accepts(Reply("Hello"))
    with pytest.raises(ValueError, match=r"embeddings are vectors: give eval_api.reply\(json=\[\[0.1, ...\], ...\]\)"):
        ask(PATH, {"input": "a"}, Reply("Hello"))
    with pytest.raises(openai.RateLimitError):
        client(Replies(Reply(error=429)), max_retries=0).embeddings.create(model="m", input="a")


def test_there_is_no_stream() -> None:
    response = ask(PATH, {"input": "a", "stream": True, "dimensions": 2})
    assert response.headers["content-type"] == "application/json"
    assert len(response.json()["data"][0]["embedding"]) == 2


def test_mistral_calls_the_dimensions_otherwise() -> None:
    assert len(ask(PATH, {"input": "a", "output_dimension": 2}).json()["data"][0]["embedding"]) == 2


def test_each_text_is_a_turn_of_the_user() -> None:
    turns = get_api("openai-embeddings").read_conversation({"input": ["a", [1, 2]]}).turns
    assert [(turn.role, turn.content) for turn in turns] == [("user", "a"), ("user", "[1, 2]")]
    assert get_api("openai-embeddings").read_conversation(5).turns == ()
