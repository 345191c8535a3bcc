"""What is sent, as a check sees it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.grading.check import sent_data

BODY = {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "a\nb"}]}], "top_p": 1}
SHOWN = {"provider": "openai", "question": "not sent", "adjustments": ["not sent"]}


@pytest.mark.parametrize(
    ("shown", "data", "text"),
    [
        ({"endpoint": "POST /v1", "request": BODY}, BODY, "m\na\nb"),
        (
            {"requests": [{"endpoint": "POST /v1", "request": BODY}, {"endpoint": "GET /v1", "request": None}]},
            [BODY, None],
            "m\na\nb",
        ),
        ({"messages": BODY["messages"]}, BODY["messages"], "a\nb"),
        (
            {"argv": ["codex", "-"], "prompt": "Mend it.", "files": {"a.md": "text"}},
            {"argv": ["codex", "-"], "prompt": "Mend it.", "files": {"a.md": "text"}},
            "codex\n-\nMend it.\ntext",
        ),
        (
            {"prompt": "p", "requests": [{"endpoint": "POST /v1", "request": {"type": {"enum": ("x",)}}}]},
            {"prompt": "p", "requests": [{"type": {"enum": ("x",)}}]},
            "p\nx",
        ),
        ({"request": None}, None, ""),
    ],
)
def test_what_is_sent_is_the_data_and_its_texts(shown: dict[str, Any], data: Any, text: str) -> None:
    sent = sent_data(SHOWN | shown)
    assert sent.data == data
    assert sent.text == text
