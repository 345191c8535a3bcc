"""JSON as `JSON.stringify(data, null, 2)` of Node 20 writes it; the expected texts come from there."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.text.json_data import to_json_text


def test_data_is_laid_out_as_javascript_does() -> None:
    data = {"b": 1.0, "a": (1, {"x": 0.5}), "empty": [[], {}], "yes": True, "text": 'é\u2028\x7f\x01"\\/\n'}
    assert to_json_text(data) == (
        "{\n"
        '  "b": 1,\n'
        '  "a": [\n'
        "    1,\n"
        "    {\n"
        '      "x": 0.5\n'
        "    }\n"
        "  ],\n"
        '  "empty": [\n'
        "    [],\n"
        "    {}\n"
        "  ],\n"
        '  "yes": true,\n'
        '  "text": "é\u2028\x7f\\u0001\\"\\\\/\\n"\n'
        "}"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (-2.50, "-2.5"),
        (1e20, "100000000000000000000"),
        # JavaScript would round it; what is written is sent.
        (12345678901234567890, "12345678901234567890"),
        ((), "[]"),
    ],
)
def test_a_value_is_written_as_javascript_does(value: Any, text: str) -> None:
    assert to_json_text(value) == text
