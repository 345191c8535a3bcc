"""Contents: which texts are joined, and what stands for media in a text."""

from __future__ import annotations

import pytest

from pytest_chatprompt import ChatMessage
from pytest_chatprompt.prompt.chat_prompt import Content, ContentPart, Media, content_parts, content_text, join_parts
from tests.media import PNG, data_url

A = Media("image", "./a.png", "image/png", PNG)
B = Media("audio", "./b.wav")


@pytest.mark.parametrize(
    ("parts", "content"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param(["one"], "one", id="a text"),
        pytest.param(["one", "", "two"], "one\n\ntwo", id="texts are joined"),
        pytest.param([A], (A,), id="media alone"),
        pytest.param([A, B], (A, B), id="media that follow each other"),
        pytest.param(["one", "two", A, "three", "four"], ("one\ntwo", A, "three\nfour"), id="texts around media"),
    ],
)
def test_texts_that_follow_each_other_are_one(parts: list[ContentPart], content: Content) -> None:
    assert join_parts(iter(parts), "\n") == content


@pytest.mark.parametrize(
    ("content", "parts", "text"),
    [
        pytest.param(None, (), "", id="nothing"),
        pytest.param("", (), "", id="an empty text"),
        pytest.param("one\n", ("one\n",), "one\n", id="a text"),
        pytest.param(("one", A, B), ("one", A, B), "one\n<Image: ./a.png>\n<Audio: ./b.wav>", id="media"),
    ],
)
def test_a_content_has_parts_and_a_text(content: Content, parts: tuple[ContentPart, ...], text: str) -> None:
    assert content_parts(content) == parts
    assert content_text(content) == ChatMessage("user", content).text == text
    assert ChatMessage("user", content).media == tuple(part for part in parts if isinstance(part, Media))


def test_a_message_with_media_is_data_in_the_shape_of_an_eval_file() -> None:
    assert ChatMessage("user", ("one", A)).as_dict() == {
        "role": "user",
        "content": [{"type": "text", "value": "one"}, {"type": "image", "value": data_url(PNG)}],
    }
