"""The prefix of a prompt: whether a request begins as another one, in the order in which the model reads it.

Two sent requests come in; the place where the second one parts from the first comes out. Vendors keep what they have
computed for the beginning of a prompt, and bill less for it, up to that place. Pure; `items.snapshot_results` and the
fixture `eval_cache_prefix` call it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any, Final

from pytest_chatprompt.capture.apis.table import find_api
from pytest_chatprompt.capture.sent_request import SentRequest

# Marks for the API's cache that the model does not read: Anthropic's is in a block, Bedrock's is a block of its own.
CACHE_KEY: Final = "cache_control"
CACHE_BLOCK: Final = "cachePoint"
# What the path of Gemini's and Bedrock's APIs does with the model.
_METHOD: Final = re.compile(r":\w+$|/converse(-stream)?$")

# What says what a part is stands before the part.
_FIRST_KEYS: Final = ("role", "type", "name")

_Place = tuple[str | int, ...]


def find_break(stored: SentRequest, sent: SentRequest) -> str | None:
    """Find the first place where the prompt differs from the stored one.

    Args:
        stored: the request as it was.
        sent: the request as it is now.

    Returns:
        The place, such as `tools[3].description`; `endpoint` for another API or another model in its path. `None` if
        one of the two begins with all of the other: then the vendor can reuse what it has computed for the shorter one.
    """
    return _part(stored, sent, must_go_on=False)


def find_break_of_conversation(earlier: SentRequest, later: SentRequest) -> str | None:
    """Find the first place where a request differs from the earlier one of its conversation, which it should extend.

    Args:
        earlier: the request before.
        later: the request.

    Returns:
        The place, as `find_break` gives it; `None` if the later request begins with all of the earlier one.
    """
    return _part(earlier, later, must_go_on=True)


def assert_conversation(sent: Sequence[SentRequest]) -> None:
    """Assert that each request begins with all of the one before.

    Args:
        sent: the requests of one conversation, in order.

    Raises:
        AssertionError: one does not, or there are fewer than two.
    """
    __tracebackhide__ = True
    if len(sent) < 2:  # noqa: PLR2004 - one before, one after
        raise AssertionError(f"a conversation has at least two requests, but here is {len(sent)}")
    for number, (earlier, later) in enumerate(pairwise(sent), start=2):
        place = find_break_of_conversation(earlier, later)
        if place is not None:
            raise AssertionError(
                f"request {number} ({later.endpoint}) does not begin with all of request {number - 1}: "
                f"the first difference is at {place}; the vendor can reuse nothing from there on"
            )


def _part(one: SentRequest, other: SentRequest, *, must_go_on: bool) -> str | None:
    if _target(one) != _target(other):
        return "endpoint"
    keys = prompt_keys(one)
    bodies = [sent.body if isinstance(sent.body, Mapping) else {} for sent in (one, other)]
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


def _target(sent: SentRequest) -> str:
    """Method and path, without what asks for a stream: the model of a path is part of it."""
    return _METHOD.sub("", sent.endpoint.partition("?")[0])


def prompt_keys(sent: SentRequest) -> Sequence[str]:
    """The keys of a body that hold the prompt, in the order in which the model reads them; all of an unknown API.

    Args:
        sent: the request.
    """
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
