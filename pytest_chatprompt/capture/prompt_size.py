"""How large a prompt is: its parts, their sizes, and how much of its beginning vendors have in their caches already."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import pairwise, zip_longest
from typing import Any, Final

from pytest_chatprompt.apis.conversation import PromptPart, as_items, as_mapping
from pytest_chatprompt.apis.model_api import ChatAPI, ModelAPI
from pytest_chatprompt.apis.table import find_api, get_api
from pytest_chatprompt.capture.guard import call_offline
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.prompt.conversion import SentFiles, file_pieces
from pytest_chatprompt.providers.http.request_body import BINARY_KEY
from pytest_chatprompt.providers.response import Finding
from pytest_chatprompt.text.json_data import value_at
from pytest_chatprompt.text.media_types import described_size
from pytest_chatprompt.wording import common_start, data_place

# Marks for the API's cache that the model does not read: Anthropic's and OpenAI's are in a block, Bedrock's is one.
_CACHE_KEYS: Final = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
# What the path of Gemini's and Bedrock's APIs does with the model.
_METHOD: Final = re.compile(r":\w+$|/converse(-stream)?$")

# What says what a part is stands before the part.
_FIRST_KEYS: Final = ("role", "type", "name")

_Place = tuple[str | int, ...]


def find_break(stored: SentRequest, sent: SentRequest, *, must_go_on: bool = False) -> tuple[str, int] | None:
    """Find the first place where the prompt differs from the stored one, and how many characters are the same up to it.

    A place is such as `tools[3].description`. It is `endpoint` for another API or another model in its path, and there
    is none if one of the two begins with all of the other: then the vendor can reuse what it has computed for the
    shorter one. With `must_go_on` that is the stored one, as in a conversation.
    """
    if _target(stored) != _target(sent):
        return "endpoint", 0
    keys = prompt_keys(stored)
    before, after = _prompt_leaves(stored, keys), _prompt_leaves(sent, keys)
    before_text, after_text = ("".join(text for _, text, _ in leaves) for leaves in (before, after))
    if after_text.startswith(before_text) or (after_text and not must_go_on and before_text.startswith(after_text)):
        return None
    leaves = [*zip_longest(before, after, fillvalue=((), "", 0))]
    at = next(index for index, (old, new) in enumerate(leaves) if old[1] != new[1])
    (place, text, _), (new_place, new_text, size) = leaves[at]
    # At the end of a leaf is its value.
    shared = common_start(text, new_text) - max(len(new_text) - size, 0)
    characters = sum(size for _, _, size in before[:at]) + max(shared, 0)
    # Of two places the one that the other request does not have is removed, or new.
    place = place if place and place not in {each for each, *_ in after} else new_place or place
    return data_place(place), characters


# With one of these a request of OpenAI's Responses goes on from what the API has kept:
# https://platform.openai.com/docs/guides/conversation-state
_HELD_BY_THE_VENDOR: Final = ("previous_response_id", "conversation")


def describe_break(sent: Sequence[SentRequest]) -> str:
    """Say where a request first parts from the one before it, with which it should begin; `""` if none does."""
    for number, (earlier, later) in enumerate(pairwise(sent), start=2):
        is_held = any(as_mapping(later.body).get(key) for key in _HELD_BY_THE_VENDOR)
        broken = None if is_held else find_break(earlier, later, must_go_on=True)
        if broken is not None:
            return (
                f"request {number} ({later.endpoint}) does not begin with all of request {number - 1}: "
                f"the first difference is at {broken[0]}; the vendor can reuse nothing from there on"
            )
    return ""


def assert_conversation(sent: Sequence[SentRequest]) -> None:
    """Assert that each request begins with all of the one before."""
    __tracebackhide__ = True
    if len(sent) < 2:  # noqa: PLR2004 - one before, one after
        raise AssertionError(f"a conversation has at least two requests, but here is {len(sent)}")
    if text := describe_break(sent):
        raise AssertionError(text)


def find_moved_prefix(sent: Sequence[SentRequest]) -> tuple[Finding, ...]:
    """What `describe_break` says of the requests to chat APIs; there is no conversation in others."""
    broken = describe_break([each for each in sent if isinstance(api_of(each), ChatAPI)])
    text = f"{broken}; if it has to be so, mark the test moves_cache_prefix(reason=...), or give the case that tag"
    return (Finding("cache_prefix", text, "https://platform.openai.com/docs/guides/prompt-caching"),) if broken else ()


def _target(sent: SentRequest) -> str:
    """Method and path, without what asks for a stream: the model of a path is part of it."""
    return _METHOD.sub("", sent.endpoint.partition("?")[0])


def prompt_keys(sent: SentRequest) -> Sequence[str]:
    """The keys of a body that hold the prompt, in the order in which the model reads them; all of an unknown API."""
    api = api_of(sent)
    if api is not None:
        return api.prompt_keys
    return sorted(sent.body, key=str) if isinstance(sent.body, Mapping) else ()


def api_of(sent: SentRequest) -> ModelAPI | None:
    """The API that a request is for; `None` if it is not known."""
    method, _, target = sent.endpoint.partition(" ")
    return find_api(method, target.partition("?")[0])


def _prompt_leaves(sent: SentRequest, keys: Sequence[str]) -> list[tuple[_Place, str, int]]:
    body = sent.body if isinstance(sent.body, Mapping) else {}
    read = {key: key not in _NOT_READ for key in keys if key in body}
    return [leaf for key, is_read in read.items() for leaf in _leaves(body[key], (key,), is_read=is_read)]


# A text under one of these stands for a list of a block or a message, in which it may have one of those types. Source:
# `messages.create` in anthropic 2.14, `chat.completions.create` and `responses.create` in openai 3.57.
_TEXT_KEYS: Final = ("content", "system", "output", "input")
_TEXT_TYPES: Final = {"message": "role", "text": "text", "input_text": "text", "output_text": "text"}


def _leaves(value: Any, place: _Place, key: str = "", *, is_read: bool) -> Iterator[tuple[_Place, str, int]]:
    """The texts and other values of a prompt with their places and sizes, in the order in which they are read."""
    if isinstance(value, Mapping):
        unread = _unread_keys(value, key)
        skipped = {*_CACHE_KEYS, *(["type"] if _TEXT_TYPES.get(str(value.get("type"))) in value else ())}
        # A stored body may have been edited by hand, so that a key of it is read as a number.
        for name in sorted(value.keys() - skipped, key=lambda name: (name not in _FIRST_KEYS, str(name))):
            if names_arguments(key):
                yield (*place, name), "", len(str(name))
            below = key_below(key, str(name))
            yield from _leaves(value[name], (*place, name), below, is_read=is_read and name not in unread)
    elif isinstance(value, list):
        for index, item in enumerate(item for item in value if {*as_mapping(item)} != {"cachePoint"}):
            yield from _leaves(item, (*place, index), key, is_read=is_read)
    elif isinstance(value, str) and place[-1] in _TEXT_KEYS:
        block = {"role": "user", "content": value} if place[-1] == "input" else {"text": value}
        yield from ((place, text, size) for _, text, size in _leaves([block], place, key, is_read=is_read))
    else:
        # Beside a text nothing stands behind it, so that a longer one begins with it.
        yield place, f"\0{place} {type(value).__name__} {value}", count_texts(value, key) if is_read else 0


# English has about four characters a token: https://platform.openai.com/tokenizer and
# https://ai.google.dev/gemini-api/docs/tokens say so. Other languages and code have fewer.
_CHARACTERS_PER_TOKEN: Final = 4
# They stand among the keys of the prompt, but are not part of its text.
_NOT_READ: Final = frozenset({"model", "previous_response_id"})
# Their values say what a part is, where it is, or how to cache it, and are not part of its text.
_PLACE_KEYS: Final = frozenset({"image_url", "document_url", "file_url", "file_id"})
_ID_KEYS: Final = frozenset({"id", "tool_call_id", "tool_use_id", "toolUseId", "call_id"})
_FORM_KEYS: Final = _PLACE_KEYS | _ID_KEYS | {"role", "type", "status", "detail", BINARY_KEY, *_CACHE_KEYS}
# Nor are these in what stands under one of those, in camel or snake case: a file.
_TYPE_KEYS: Final = frozenset({"format", "media_type", "mimeType", "mime_type"})
_FILE_KEYS: Final = _FORM_KEYS | _TYPE_KEYS | {"data", "bytes", "url", "fileUri", "file_uri", "s3Location"}
_FILES: Final = frozenset({"source", "inlinedata", "filedata", "inputaudio", "image", "document", "audio", "video"})
# What stands under these is read as it is, however deep: arguments and results of tools, documents that are data.
_DATA: Final = frozenset({"input", "args", "arguments", "response", "json", "data"})
# But these, with the keys above them, are schemas.
_SCHEMAS: Final = frozenset({("inputSchema", "json"), ("functionDeclarations", "response")})
# A text under these is one, even if it looks like base64.
_TEXTS: Final = (_DATA - {"data"}) | {"text", "content", "output", "description"}
# An image, a sound or a document; vendors count these in ways of their own.
_DATA_URL: Final = re.compile(r"data:[^,]*;base64,.*", re.DOTALL)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{64,}={0,2}")


def count_characters(sent: SentRequest) -> int:
    """Count the characters of all texts of a prompt: messages, descriptions, names of tools and of their arguments."""
    return sum(len(text) for texts in part_texts(sent).values() for text in texts)


def read_paths(sent: SentRequest) -> list[tuple[str, ...]]:
    """The paths in a body below which a model reads the texts."""
    api = api_of(sent)
    return [*(api.schema_paths if api else ()), *((key,) for key in prompt_keys(sent) if key not in _NOT_READ)]


def estimate_tokens(characters: int) -> int:
    """Estimate the tokens of a text by its characters: four to one."""
    return round(characters / _CHARACTERS_PER_TOKEN)


def count_texts(value: Any, key: str = "") -> int:
    """Count the characters of the texts in a value of a prompt that stands under a key."""
    return sum(map(len, _texts(value, key)))


def _texts(value: Any, key: str) -> Iterator[str]:
    if isinstance(value, str):
        yield from () if is_media(value, key) else (value,)
    elif isinstance(value, Mapping):
        yield from map(str, value if names_arguments(key) else ())
        unread = _unread_keys(value, key)
        for name, item in value.items():
            yield from () if name in unread else _texts(item, key_below(key, str(name)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, key)


def key_below(key: str, name: str) -> str:
    """The key that says how to read what stands under `name` in a mapping under `key`."""
    # A property may have any name, and so may data.
    return "" if names_arguments(key) else key if key in _DATA or (key, name) in _SCHEMAS else name


def _unread_keys(value: Mapping[Any, Any], key: str) -> Set[str]:
    """The keys whose values are not part of the text, in a mapping that stands under a key."""
    if names_arguments(key) or key in _DATA:
        # Among names a word such as `type` is one.
        return frozenset()
    unread = _FILE_KEYS if key.replace("_", "").lower() in _FILES else _FORM_KEYS
    # Anthropic's documents may be texts, and Cohere's are data.
    return unread - {"data"} if value.get("type") == "text" or key == "document" else unread


def is_media(text: str, key: str = "") -> bool:
    """Whether a text that stands under a key is an image, a sound or a document, or the description of one."""
    pattern = _DATA_URL if key in _TEXTS or text.startswith("data:") else _BASE64
    return pattern.fullmatch(text) is not None or described_size(text) is not None


def names_arguments(key: str) -> bool:
    """Whether the keys of the mapping under a key are names that the model reads."""
    return key == "properties"


def prompt_parts(sent: SentRequest, files: SentFiles | None = None) -> tuple[PromptPart, ...]:
    """What fills the window of the model, the longest part first; together they have `count_characters`.

    Tokens are counted where `tiktoken` and its vocabulary are on this machine and the model is OpenAI's; else each part
    has its share of the estimate for all of them.
    """
    texts = sorted(part_texts(sent, files).items(), key=lambda part: -sum(map(len, part[1])))
    encode = _find_encoder(as_mapping(sent.body).get("model")) if texts else None
    parts: list[PromptPart] = []
    total = 0
    for name, said in texts:
        characters, before = sum(map(len, said)), total
        total += characters
        tokens = sum(len(encode(text)) for text in said) if encode else estimate_tokens(total) - estimate_tokens(before)
        parts.append(PromptPart(name, characters, tokens, is_estimate=encode is None))
    return tuple(parts)


def part_texts(sent: SentRequest, files: SentFiles | None = None) -> dict[str, list[str]]:
    """The texts of a prompt by the part of it to which they belong, such as `tools`, `system text`, or a file."""
    found: dict[str, list[str]] = {}
    for part, value in _pieces(sent):
        for file, piece in (each for text in _texts(value, "") for each in file_pieces(text, files or {})):
            section = "" if file is None else file.section_of(piece)
            for name, text in ((part, piece[len(section) :]), (file.name if file else part, section)):
                if text:
                    found.setdefault(name, []).append(text)
    return found


# By the role of a turn, or by the key of the body that holds no turns.
_PARTS: Final = {"system": "system text", "tool": "tool results", "toolConfig": "tools"} | dict.fromkeys(
    ("response_format", "text", "output_config", "output_format", "generationConfig", "generation_config"),
    "answer format",
)


def _pieces(sent: SentRequest) -> Iterator[tuple[str, Any]]:
    """The pieces of a prompt, each with the name of its part."""
    body = sent.body if isinstance(sent.body, Mapping) else {"body": sent.body}
    api = api_of(sent)
    # What is given to a function has the messages of a chat prompt, and no endpoint.
    api = get_api("openai-chat") if not sent.endpoint and "messages" in body else api
    paths = read_paths(sent) if body is sent.body else [(key,) for key in body]
    items = [(path[0], item) for path in paths for item in as_items(value_at(body, path))]
    for number, (key, item) in enumerate(items, start=1):
        said = [*_said(api, key, item)]
        for role, value in said:
            turn = "last turn" if number == len(items) and role == said[-1][0] else "earlier turns"
            # YAML may give keys that are no texts.
            yield str(key if api is None else _PARTS.get(role or key, turn if role else key)), value


def _said(api: ModelAPI | None, key: str, item: Any) -> Iterator[tuple[str, Any]]:
    """Who says an item of a body; `""` for what is no conversation. What several say is told block by block."""
    turns = () if api is None else api.read_conversation({key: [item]}).turns
    blocks = [(name, block) for name in ("content", "parts") for block in as_items(as_mapping(item).get(name))]
    if len({turn.role for turn in turns}) > 1 and len(blocks) > 1:
        for name, block in blocks:
            yield from _said(api, key, {**item, name: [block]})
    else:
        yield turns[-1].role if turns else "", item


def _find_encoder(model: Any) -> Callable[[str], Sequence[int]] | None:
    """What makes tokens of a text for a model of OpenAI; `None` where that is not known without a network."""
    try:
        from tiktoken import encoding_for_model  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415

        return call_offline(lambda: encoding_for_model(model).encode_ordinary)  # type: ignore[no-any-return, unused-ignore]
    except Exception:
        # It is not installed, knows no such model, or would have to download the vocabulary.
        return None
