"""JSON as `JSON.stringify(data, null, 2)` of Node 20 writes it; the expected texts come from there."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.text.json_data import to_json_text


def test_data_is_laid_out_as_javascript_does() -> None:
    data = {"b": 1, "a": [1, {"x": None}], "empty": [[], {}], "yes": True, "text": 'é\u2028\x7f\x01"\\/\n'}
    assert to_json_text(data) == (
        "{\n"
        '  "b": 1,\n'
        '  "a": [\n'
        "    1,\n"
        "    {\n"
        '      "x": null\n'
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
        (1.5e-6, "0.0000015"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-1.25e-9, "-1.25e-9"),
        (5e-324, "5e-324"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.25e31, "1.25e+31"),
        # JavaScript would round it; what is written is sent.
        (12345678901234567890, "12345678901234567890"),
        ("\ud800 and \U0001f600", '"\\ud800 and \U0001f600"'),
        ((), "[]"),
    ],
)
def test_a_value_is_written_as_javascript_does(value: Any, text: str) -> None:
    assert to_json_text(value) == text
