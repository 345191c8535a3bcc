"""The texts in the JSON data of a snapshot or a recording, and the values that stand there under a secret's name."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, unquote_plus

from pytest_chatprompt.capture.secrets.names import SecretKind, kind_of_key, looks_random, looks_secret, names_data
from pytest_chatprompt.providers.http.request_body import BINARY_KEY, CONTENT_KEY, PARTS_KEY, part_name

# A place in JSON data: the place around it, and the key or index in that. `None` is the whole.
Place = tuple[Any, str | int] | None

_LONGEST_WORD: Final = 32
_SPECIAL_KEYS: Final = frozenset({BINARY_KEY, PARTS_KEY, "argv", "name", "reply", "request"})
# What strings begin with that hold other strings: URLs, JSON, XML.
OUTER_STARTS: Final = ("http", "{", "[", "<")
_XML_ELEMENT: Final = re.compile(r"<(\w+)>([^<>\s]+)</\1>")
# Keys beside a `token` that is the cursor of a page.
_PAGE_KEYS: Final = frozenset(
    {"cursor", "has_more", "hasMore", "items", "limit", "next", "offset", "page", "page_size", "pageSize", "results"}
)
_FORM: Final = re.compile(r"[^=&\s]+=[^&\s]*(?:&[^=&\s]+=[^&\s]*)*")
_URL: Final = re.compile(r"https?://(?:[^\s/:@]*:([^\s/@]+)@)?[^\s?]*(?:\?(\S*))?")
_ASSIGNMENT: Final = re.compile(r"-{0,2}([\w.-]+)[=:](\S+)")
_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token)(?:\s+|\Z)", re.IGNORECASE)


class NamedValue(NamedTuple):
    """A value that looks like a secret, under a name that says that it is one."""

    name: str
    value: str
    place: Place


@dataclass(eq=False, slots=True)
class Payload:
    """What JSON data holds.

    Args:
        texts: every string, keys included, and what strings hold in base64 or JSON, each with the place of the string.
        named: the values that stand under the name of a secret.
    """

    texts: list[tuple[str, Place]] = field(default_factory=list)
    named: list[NamedValue] = field(default_factory=list)

    @classmethod
    def of(cls, data: Any) -> Payload:
        """Collect the texts of JSON data."""
        payload = cls()
        payload._add(data, None)
        return payload

    def _add(self, value: Any, place: Place) -> None:
        if isinstance(value, str):
            self.texts.append((value, place))
            if value.startswith(OUTER_STARTS):
                self._look_into(value, place)
        elif isinstance(value, Mapping):
            for key, each in value.items():
                self._add(each, (place, key))
                if not _is_plain(key):
                    self._add_special(key, each, value, place)
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self._add(item, (place, index))

    def _add_special(self, key: str, value: Any, mapping: Mapping[str, Any], place: Place) -> None:
        """Look at a key and its value where one of them may be, name or contain a secret."""
        inner = (place, key)
        if not _is_word(key):
            # Words are names of an API, and no secrets even where a variable has the same value.
            self.texts.append((key, place))
        if not (key == "token" and mapping.keys() & _PAGE_KEYS):
            self._check(key, value, inner)
        for index, item in enumerate(_list(value)):
            self._check(key, item, (inner, index), in_list=True)
            if key == PARTS_KEY and isinstance(item, Mapping):
                self._check(part_name(item), item.get(CONTENT_KEY), ((inner, index), CONTENT_KEY))
        if key == "name":
            self._check(value, mapping.get("value"), (place, "value"))
        elif key == "argv" and place is None:
            self._check_arguments(_list(value), inner)
        elif key == BINARY_KEY and (content := decoded(value)) is not None:
            self.texts.append((content, inner))
        elif key == "request":
            self._check_form(value.get("body") if isinstance(value, Mapping) else value, inner)
        elif key == "reply" and isinstance(value, Mapping):
            self._check_form(value.get("text"), inner)

    def _look_into(self, text: str, place: Place) -> None:
        """Look into a string that is a URL, JSON data or XML, and nothing else."""
        if text.startswith("http"):
            url = _URL.fullmatch(text)
            if url is not None:
                self._check("password", unquote(url[1] or ""), place)
                self._check_form(url[2] or "", place)
        elif text.startswith("<"):
            for element in _XML_ELEMENT.finditer(text):
                self._check(element[1], element[2], place)
        elif text.rstrip().endswith(("}", "]")):
            with suppress(ValueError, RecursionError):
                inner = Payload.of(json.loads(text))
                self.named += [NamedValue(name, value, _within(place, at)) for name, value, at in inner.named]
                self.texts += [(each, place) for each, _ in inner.texts]

    def _check(self, name: Any, value: Any, place: Place, *, in_list: bool = False) -> None:
        """Note a value that looks like a secret, if its name says that it is one; a list may hold names of a schema."""
        if not (isinstance(name, str) and isinstance(value, str)):
            return
        kind = kind_of_key(name)
        if kind is None:
            return
        value = _SCHEME.sub("", value.strip(), count=1)
        if any(map(str.isspace, value)):
            return
        if in_list and kind is SecretKind.PHRASE:
            kind = SecretKind.KEY
        if looks_random(value) and not names_data(value) if kind is SecretKind.UNCERTAIN else looks_secret(value, kind):
            self.named.append(NamedValue(name, value, place))

    def _check_form(self, text: Any, place: Place) -> None:
        """Look into a text of the form `name=value&name=value`."""
        if isinstance(text, str) and _FORM.fullmatch(text):
            for pair in text.split("&"):
                name, _, value = pair.partition("=")
                self._check(unquote_plus(name), unquote_plus(value), place)

    def _check_arguments(self, arguments: Sequence[Any], place: Place) -> None:
        """Look into a command line: `--api-key=VALUE`, `--api-key VALUE`, `API_KEY=VALUE`, `Authorization: VALUE`."""
        name = ""
        for index, argument in enumerate(arguments):
            # An argument may be a command for a shell: `sh -c "API_KEY=... agent"`.
            for word in (each.strip("\"'") for each in str(argument).split()):
                assignment = _ASSIGNMENT.fullmatch(word)
                if assignment is not None:
                    self._check(assignment[1], assignment[2].strip("\"'"), (place, index))
                self._check(name, word, (place, index))
                if not _SCHEME.fullmatch(word):
                    name = word.strip("-:") if word.startswith("-") or word.endswith(":") else ""


def decoded(value: Any) -> str | None:
    """The bytes that stand in a string in base64, as text; `surrogateescape` gives the bytes again."""
    with suppress(TypeError, ValueError):
        return base64.b64decode(value, validate=True).decode(errors="surrogateescape")
    return None


def _within(place: Place, inner: Place) -> Place:
    """A place in the JSON data that a string holds."""
    return place if inner is None else (_within(place, inner[0]), inner[1])


def place_text(place: Place) -> str:
    """A place as errors show it: `request.messages[0].content`; `""` for the whole."""
    if place is None:
        return ""
    around, last = place
    before = place_text(around)
    if isinstance(last, int):
        return f"{before}[{last}]"
    return f"{before}.{last}" if before else last


@lru_cache(maxsize=4096)
def _is_plain(key: str) -> bool:
    """Whether a key says nothing of its value."""
    return _is_word(key) and key not in _SPECIAL_KEYS and kind_of_key(key) is None


def _is_word(key: str) -> bool:
    return len(key) <= _LONGEST_WORD and key.replace("_", "").isalpha()


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
