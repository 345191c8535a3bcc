"""Masks: what is replaced in which values, and what is not a mask."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_chatprompt.errors import MaskError
from pytest_chatprompt.snapshots.masks import Masks


def test_string_values_are_masked_in_order_and_keys_are_not() -> None:
    masks = Masks.from_mapping(
        {
            r"\d{4}-\d\d-\d\d": "<date>",
            re.compile("ID", re.IGNORECASE): lambda match: f"<{match[0]}>",
            "<date>": "<day>",
        }
    )
    data = {"id": "on 2026-11-22, id 7", "list": [("2026-11-22",), 5, None, 1.5, True]}
    assert masks.apply(data) == {"id": "on <day>, <id> 7", "list": [["<day>"], 5, None, 1.5, True]}


def test_without_masks_the_data_is_the_same_object() -> None:
    data = {"a": ["b"]}
    assert Masks.from_mapping({}).apply(data) is data


@pytest.mark.parametrize(
    ("masks", "text"),
    [
        (["a"], "eval_masks is list; it must be a mapping of regular expressions to what to show for them, such as "),
        ({5: "x"}, "eval_masks: 5 is int; a key must be a regular expression"),
        ({re.compile(b"a"): "x"}, "is Pattern; a key must be a regular expression"),
        ({"(": "x"}, "eval_masks: '(' is not a valid regular expression (missing ), unterminated subpattern"),
        ({"a": 5}, "eval_masks: the value for 'a' is int; it must be a text, or a function of the match"),
        ({re.compile("a"): None}, "eval_masks: the value for 'a' is NoneType; it must be"),
    ],
)
def test_what_is_no_mask_is_an_error(masks: Any, text: str) -> None:
    with pytest.raises(MaskError) as caught:
        Masks.from_mapping(masks)
    assert text in str(caught.value)


@pytest.mark.parametrize("shown", [r"\2", lambda _: 5], ids=["no such group", "no text"])
def test_a_replacement_that_does_not_fit_is_an_error(shown: Any) -> None:
    with pytest.raises(MaskError, match="eval_masks: the value for 'a' does not fit its match: "):
        Masks.from_mapping({"a": shown}).apply("a")
