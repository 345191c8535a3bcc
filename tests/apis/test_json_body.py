"""JSON bodies: what is compared is what a receiver decodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from hypothesis import example, given, strategies as st

from pytest_chatprompt import PayloadError
from pytest_chatprompt.apis.json_body import as_sent, encode_json


class _Word(StrEnum):
    ONE = "one"


class _Text(str):
    __slots__ = ()


def _nested(depth: int) -> dict[str, Any]:
    return {"a": _nested(depth - 1)} if depth else {}


def _exact(value: Any) -> Any:
    """A value with its types, the order of its keys, and floats as they are."""
    if isinstance(value, dict):
        return [(type(key), key, _exact(each)) for key, each in value.items()]
    return [_exact(each) for each in value] if isinstance(value, list) else (type(value), repr(value))


def _outcome(decode: Callable[[dict[str, Any]], Any], body: dict[str, Any]) -> Any:
    """What a function gives, or the text of its error."""
    try:
        return _exact(decode(body))
    except PayloadError as error:
        return str(error)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(10**30), max_value=10**30),
    st.floats(),
    st.text(),
    st.text(st.characters()),
    st.sampled_from([_Word.ONE, _Text("two"), object(), b"bytes", {1}]),
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.one_of(st.text(max_size=3), st.integers(), st.booleans(), st.none())
    lists = st.lists(inner, max_size=3)
    return st.one_of(inner, lists, lists.map(tuple), st.dictionaries(keys, inner, max_size=3))


data = _containers(_containers(scalars))


@given(st.dictionaries(st.text(max_size=5), data, max_size=4))
@example({"a": 2**63, "b": -(2**63), "c": 2**63 - 1})
@example({"a": float("nan")})
@example({"a": -0.0, "b": 1e22, "c": 5e-324})
@example({"a": "\ud83d\ude00"})
@example({"a": "\ud800"})
@example({"\udfff": "é"})
@example({"a": (1, 2), "b": _Word.ONE, "c": _Text("x"), "d": {1: 2, "1": 3}})
@example(_nested(49))
@example(_nested(60))
def test_it_is_the_decoded_body_or_the_same_error(body: dict[str, Any]) -> None:
    assert _outcome(as_sent, body) == _outcome(lambda body: json.loads(encode_json(body)), body)


def test_plain_data_is_not_copied() -> None:
    body = {"a": ["text", 1, 1.5, True, None, {"é": "漢"}]}
    assert as_sent(body) is body
