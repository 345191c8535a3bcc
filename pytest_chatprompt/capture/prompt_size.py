"""The size of a prompt: how many characters a model has to read in a request, and about how many tokens that is.

A sent request comes in, numbers come out. Pure; `items.snapshot_results` calls it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_chatprompt.capture.body import BINARY_KEY
from pytest_chatprompt.capture.prompt_prefix import CACHE_BLOCK, CACHE_KEY, prompt_keys
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.evalfile.media_types import described_size

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
    """Count the characters of all texts of a prompt: messages, descriptions, names of tools and of their arguments.

    Args:
        sent: the request; media, roles and the keys of the API do not count.
    """
    if not isinstance(sent.body, Mapping):
        return _count(sent.body)
    return sum(_count(sent.body.get(key)) for key in prompt_keys(sent) if key not in _NOT_READ)


def estimate_tokens(characters: int) -> int:
    """Estimate the tokens of a text by its characters: four to one.

    Args:
        characters: how many there are; a negative number gives a negative one.
    """
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
