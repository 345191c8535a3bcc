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
from pytest_chatprompt.wording import data_place

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
    before, after = _prompt_leaves(stored, keys), _prompt_leaves(sent, keys)
    before_text, after_text = ("".join(text for _, text in leaves) for leaves in (before, after))
    if after_text.startswith(before_text) or (after_text and not must_go_on and before_text.startswith(after_text)):
        return None
    leaves = zip_longest(before, after, fillvalue=((), ""))
    place, new_place = next((left, right) for (left, text), (right, other) in leaves if text != other)
    # Of two places the one that the other request does not have is removed, or new.
    return data_place(place if place and place not in {each for each, _ in after} else new_place or place)


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


def _prompt_leaves(sent: SentRequest, keys: Sequence[str]) -> list[tuple[_Place, str]]:
    body = sent.body if isinstance(sent.body, Mapping) else {}
    return [leaf for key in keys if key in body for leaf in _leaves(body[key], (key,))]


def _leaves(value: Any, place: _Place) -> Iterator[tuple[_Place, str]]:
    """The texts and other values of a prompt with their places, in the order in which they are read."""
    if isinstance(value, Mapping):
        # A stored body may have been edited by hand, so that a key of it is read as a number.
        for key in sorted(value.keys() - {CACHE_KEY}, key=lambda key: (key not in _FIRST_KEYS, str(key))):
            yield from _leaves(value[key], (*place, key))
    elif isinstance(value, list):
        items = [item for item in value if not (isinstance(item, Mapping) and item.keys() == {CACHE_BLOCK})]
        for index, item in enumerate(items):
            yield from _leaves(item, (*place, index))
    else:
        # Beside a text nothing stands behind it, so that a longer one begins with it.
        yield place, f"\0{place} {type(value).__name__} {value}"


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
        return count_texts(sent.body)
    return sum(count_texts(sent.body.get(key)) for key in read_keys(sent))


def read_keys(sent: SentRequest) -> list[str]:
    """The keys of a body whose texts a model reads."""
    return [key for key in prompt_keys(sent) if key not in _NOT_READ]


def estimate_tokens(characters: int) -> int:
    """Estimate the tokens of a text by its characters: four to one."""
    return round(characters / _CHARACTERS_PER_TOKEN)


def count_texts(value: Any, key: str = "") -> int:
    """Count the characters of the texts in a value of a prompt that stands under a key."""
    if isinstance(value, str):
        return 0 if is_media(value) else len(value)
    if isinstance(value, Mapping):
        names = sum(len(str(name)) for name in value) if names_arguments(key) else 0
        return names + sum(count_texts(item, str(name)) for name, item in value.items() if is_text_key(str(name), key))
    if isinstance(value, list | tuple):
        return sum(count_texts(item, key) for item in value)
    return 0


def is_media(text: str) -> bool:
    """Whether a text is an image, a sound or a document, or the description of one."""
    return _MEDIA.fullmatch(text) is not None or described_size(text) is not None


def names_arguments(key: str) -> bool:
    """Whether the keys of the mapping under a key are names that the model reads."""
    return key == _NAMING_KEY


def is_text_key(name: str, around: str) -> bool:
    """Whether what stands under a key, in the mapping under another one, has texts that the model reads."""
    # Among names a word such as `type` is one.
    return names_arguments(around) or name not in _FORM_KEYS
