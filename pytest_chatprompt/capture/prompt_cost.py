"""What a prompt costs: how long it is, and whether it begins as another one, which vendors have a cache for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any, Final

from pytest_chatprompt.apis.table import find_api
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.providers.http.request_body import BINARY_KEY
from pytest_chatprompt.text.media_types import described_size

# Marks for the API's cache that the model does not read: Anthropic's is in a block, Bedrock's is a block of its own.
CACHE_KEY: Final = "cache_control"
CACHE_BLOCK: Final = "cachePoint"
# What the path of Gemini's and Bedrock's APIs does with the model.
_METHOD: Final = re.compile(r":\w+$|/converse(-stream)?$")

# What says what a part is stands before the part.
_FIRST_KEYS: Final = ("role", "type", "name")

_Place = tuple[str | int, ...]


def find_break(stored: SentRequest, sent: SentRequest, *, must_go_on: bool = False) -> str | None:
    """Find the first place where the prompt differs from the stored one, such as `tools[3].description`.

    It is `endpoint` for another API or another model in its path, and `None` if one of the two begins with all of the
    other: then the vendor can reuse what it has computed for the shorter one. With `must_go_on` that is the stored one,
    as in a conversation.
    """
    if _target(stored) != _target(sent):
        return "endpoint"
    keys = prompt_keys(stored)
    bodies = [each.body if isinstance(each.body, Mapping) else {} for each in (stored, sent)]
    for key in keys:
        left, right = (body.get(key) for body in bodies)
        place = next(_differences(left, right, (key,)), None)
        if place is None:
            continue
        # Only at the end of the prompt there is nothing that would move.
        if key == keys[-1] and (_goes_on(left, right) or (not must_go_on and _goes_on(right, left))):
            return None
        return _shown(place)
    return None


def assert_conversation(sent: Sequence[SentRequest]) -> None:
    """Assert that each request begins with all of the one before."""
    __tracebackhide__ = True
    if len(sent) < 2:  # noqa: PLR2004 - one before, one after
        raise AssertionError(f"a conversation has at least two requests, but here is {len(sent)}")
    for number, (earlier, later) in enumerate(pairwise(sent), start=2):
        place = find_break(earlier, later, must_go_on=True)
        if place is not None:
            raise AssertionError(
                f"request {number} ({later.endpoint}) does not begin with all of request {number - 1}: "
                f"the first difference is at {place}; the vendor can reuse nothing from there on"
            )


def _target(sent: SentRequest) -> str:
    """Method and path, without what asks for a stream: the model of a path is part of it."""
    return _METHOD.sub("", sent.endpoint.partition("?")[0])


def prompt_keys(sent: SentRequest) -> Sequence[str]:
    """The keys of a body that hold the prompt, in the order in which the model reads them; all of an unknown API."""
    method, _, target = sent.endpoint.partition(" ")
    api = find_api(method, target.partition("?")[0])
    if api is not None:
        return api.prompt_keys
    return sorted(sent.body, key=str) if isinstance(sent.body, Mapping) else ()


def _differences(one: Any, other: Any, place: _Place) -> Iterator[_Place]:
    """The places where two values differ, in the order in which they are read."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted(_keys(one) | _keys(other), key=_reading_order):
            if key in one and key in other:
                yield from _differences(one[key], other[key], (*place, key))
            else:
                yield (*place, key)
    elif isinstance(one, list) and isinstance(other, list):
        for left, right in zip_longest(_items(one), _items(other)):
            index, item = left if right is None else right
            if left is None or right is None:
                yield (*place, index)
            else:
                yield from _differences(left[1], item, (*place, index))
    elif type(one) is not type(other) or one != other:
        yield place


def _goes_on(value: Any, longer: Any) -> bool:
    """Whether a value is the beginning of another one: a list of its items, a text of its characters."""
    if isinstance(value, str) and isinstance(longer, str):
        return longer.startswith(value)
    if isinstance(value, list) and isinstance(longer, list):
        items, others = ([item for _, item in _items(each)] for each in (value, longer))
        if not items:
            return True
        *first, last = items
        return (
            len(items) <= len(others)
            and not any(_differences(first, others[: len(first)], ()))
            and _goes_on(last, others[len(first)])
        )
    if isinstance(value, Mapping) and isinstance(longer, Mapping):
        pairs = [(value.get(key), longer.get(key)) for key in _keys(value) | _keys(longer)]
        differing = [pair for pair in pairs if any(_differences(*pair, ("",)))]
        return not differing or (len(differing) == 1 and _goes_on(*differing[0]))
    return False


def _keys(mapping: Mapping[str, Any]) -> set[str]:
    return {key for key in mapping if key != CACHE_KEY}


def _items(values: list[Any]) -> list[tuple[int, Any]]:
    """The items that a model reads, each with its index."""
    return [
        (index, item)
        for index, item in enumerate(values)
        if not (isinstance(item, Mapping) and item.keys() == {CACHE_BLOCK})
    ]


def _reading_order(key: str) -> tuple[bool, str]:
    # A stored body may have been edited by hand, so that a key of it is read as a number.
    return key not in _FIRST_KEYS, str(key)


def _shown(place: _Place) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


# English has about four characters a token: https://platform.openai.com/tokenizer and
# https://ai.google.dev/gemini-api/docs/tokens say so. Other languages and code have fewer.
_CHARACTERS_PER_TOKEN: Final = 4
# They stand among the keys of the prompt, but are not part of its text.
_NOT_READ: Final = frozenset({"model", "previous_response_id"})
# Their values say what a part is, or how to cache it, and are not part of its text.
_FORM_KEYS: Final = frozenset({"role", "type", "id", BINARY_KEY, CACHE_KEY, CACHE_BLOCK})
# The names in it are the user's.
_NAMING_KEY: Final = "properties"
# An image, a sound or a document; vendors count these in ways of their own.
_MEDIA: Final = re.compile(r"data:[^,]*;base64,.*|[A-Za-z0-9+/_-]{64,}={0,2}", re.DOTALL)


def count_characters(sent: SentRequest) -> int:
    """Count the characters of all texts of a prompt: messages, descriptions, names of tools and of their arguments."""
    if not isinstance(sent.body, Mapping):
        return _count(sent.body)
    return sum(_count(sent.body.get(key)) for key in prompt_keys(sent) if key not in _NOT_READ)


def estimate_tokens(characters: int) -> int:
    """Estimate the tokens of a text by its characters: four to one."""
    return round(characters / _CHARACTERS_PER_TOKEN)


def _count(value: Any, key: str = "") -> int:
    if isinstance(value, str):
        return 0 if _MEDIA.fullmatch(value) or described_size(value) is not None else len(value)
    if isinstance(value, Mapping):
        names = sum(len(str(name)) for name in value) if key == _NAMING_KEY else 0
        # Within it a word such as `type` is a name too.
        form = () if key == _NAMING_KEY else _FORM_KEYS
        return names + sum(_count(item, str(name)) for name, item in value.items() if name not in form)
    if isinstance(value, list | tuple):
        return sum(_count(item, key) for item in value)
    return 0
