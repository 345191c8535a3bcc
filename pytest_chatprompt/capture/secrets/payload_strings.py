"""Payload strings: every string of a payload with its place, and the values that stand under the name of a secret.

A payload is the JSON data of a snapshot or a recording. Some strings hold others: the JSON of a tool's arguments, the
bytes of a body in base64, a form, XML. And some are pieces of one: what a stream sends is read in one by its client.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, unquote_plus

from pytest_chatprompt.capture.secrets.names import SecretKind, kind_of_key
from pytest_chatprompt.capture.secrets.values import looks_random, looks_secret, names_data
from pytest_chatprompt.providers.http.request_body import BINARY_KEY, CONTENT_KEY, PARTS_KEY, part_name

# A place in JSON data: the place around it, and the key or index in that. `None` is the whole.
Place = tuple[Any, str | int] | None

_LONGEST_WORD: Final = 32
_SPECIAL_KEYS: Final = frozenset({BINARY_KEY, PARTS_KEY, "argv", "name", "reply", "request"})
# What strings begin with that hold other strings: URLs, JSON, XML.
_OUTER_STARTS: Final = ("http", "{", "[", "<")
_XML_ELEMENT: Final = re.compile(r"<(\w+)>([^<>\s]+)</\1>")
# Keys beside a `token` that is the cursor of a page.
_PAGE_KEYS: Final = frozenset(
    {"cursor", "has_more", "hasMore", "items", "limit", "next", "offset", "page", "page_size", "pageSize", "results"}
)
_FORM: Final = re.compile(r"[^=&\s]+=[^&\s]*(?:&[^=&\s]+=[^&\s]*)*")
_URL: Final = re.compile(r"https?://(?:[^\s/:@]*:([^\s/@]+)@)?[^\s?]*(?:\?(\S*))?")
_ASSIGNMENT: Final = re.compile(r"-{0,2}([\w.-]+)[=:]\s*(\S.*)", re.DOTALL)
_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)


class NamedValue(NamedTuple):
    """A value that looks like a secret, under a name that says that it is one."""

    name: str
    value: str
    place: Place


@dataclass(eq=False, slots=True)
class PayloadStrings:
    """The strings of a payload.

    Args:
        strings: every string, keys included, each with its place.
        binary: bytes that stand there in base64, as text; `surrogateescape` gives the bytes again.
        inner: what JSON within a string hides by escapes or in base64, each text with the place of that string.
        streamed: texts that a stream sends in pieces: the pieces in their order, each with its place.
        named: the values that stand under the name of a secret.
    """

    strings: list[tuple[str, Place]] = field(default_factory=list)
    binary: list[tuple[str, Place]] = field(default_factory=list)
    inner: list[tuple[str, Place]] = field(default_factory=list)
    streamed: list[list[tuple[str, Place]]] = field(default_factory=list)
    named: list[NamedValue] = field(default_factory=list)

    @classmethod
    def of(cls, data: Any) -> PayloadStrings:
        """Collect the strings of JSON data."""
        payload = cls()
        payload._add(data, None)
        return payload

    @property
    def texts(self) -> list[tuple[str, Place]]:
        """Every text that may hold a secret, with its place or that of its first piece."""
        joined = [(_joined(pieces), pieces[0][1]) for pieces in self.streamed]
        return [*self.strings, *self.binary, *self.inner, *joined]

    def _add(self, value: Any, place: Place) -> None:
        if isinstance(value, str):
            self.strings.append((value, place))
            if value.startswith(_OUTER_STARTS):
                self._look_into(value, place)
        elif isinstance(value, (dict, Mapping)):
            self._add_mapping(value, place)
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self._add(item, (place, index))

    def _add_mapping(self, mapping: Mapping[str, Any], place: Place) -> None:
        for key, value in mapping.items():
            if type(value) is str and not value.startswith(_OUTER_STARTS):
                # Most values are such texts, and this saves two calls for each.
                self.strings.append((value, (place, key)))
            else:
                self._add(value, (place, key))
            if not _is_plain(key):
                self._add_special(key, value, mapping, place)

    def _add_special(self, key: str, value: Any, mapping: Mapping[str, Any], place: Place) -> None:
        """Look at a key and its value where one of them may be, name or contain a secret."""
        inner = (place, key)
        if not _is_word(key):
            # Words are names of an API, and no secrets even where a variable has the same value.
            self.strings.append((key, place))
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
        else:
            self._add_body(key, value, inner)

    def _add_body(self, key: str, value: Any, inner: Place) -> None:
        """Look into a body: bytes, a form, or what a stream sends in pieces."""
        if key == BINARY_KEY and isinstance(value, str):
            with suppress(ValueError):
                content = base64.b64decode(value, validate=True)
                self.binary.append((content.decode(errors="surrogateescape"), inner))
        elif key == "request":
            body, at = (value.get("body"), (inner, "body")) if isinstance(value, Mapping) else (value, inner)
            self._check_form(body, at)
        elif key == "reply" and isinstance(value, Mapping):
            self._check_form(value.get("text"), (inner, "text"))
            for name in ("events", "body"):
                self._add_stream(_list(value.get(name)), (inner, name))

    def _add_stream(self, events: Sequence[Any], place: Place) -> None:
        """Join what the same field of several events says: a client joins it too."""
        fields: dict[tuple[Any, ...], list[tuple[str, Place]]] = {}
        for index, event in enumerate(events):
            _add_pieces(event, (place, index), (), fields)
        for pieces in fields.values():
            if len(pieces) > 1:
                self.streamed.append(pieces)
                self._look_into(_joined(pieces), pieces[0][1])

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
                data = json.loads(text)
                embedded = PayloadStrings()
                embedded._add(data, None)
                self.named += [NamedValue(name, value, _within(place, at)) for name, value, at in embedded.named]
                # Without escapes its strings stand in the text as they are.
                inner = [*embedded.binary, *embedded.inner, *(embedded.strings if "\\" in text else ())]
                self.inner += [(string, place) for string, _ in inner]

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
        for index, argument in enumerate(arguments):
            if isinstance(argument, str) and any(map(str.isspace, argument)):
                # A command for a shell: `sh -c "API_KEY=... agent"`.
                self._check_words([(word, (place, index)) for word in _shell_words(argument)])
        self._check_words([(argument, (place, index)) for index, argument in enumerate(arguments)])

    def _check_words(self, words: Sequence[tuple[Any, Place]]) -> None:
        option = ""
        for word, place in words:
            assignment = _ASSIGNMENT.fullmatch(str(word))
            if assignment is not None:
                self._check(assignment[1], assignment[2].strip("\"'"), place)
            self._check(option, word, place)
            option = word.lstrip("-") if isinstance(word, str) and word.startswith("-") else ""


def _joined(pieces: Sequence[tuple[str, Place]]) -> str:
    return "".join([text for text, _ in pieces])


def _add_pieces(value: Any, place: Place, path: tuple[Any, ...], fields: dict[Any, list[tuple[str, Place]]]) -> None:
    """Add the strings of an event to the fields of its stream: by keys, by indices as `index`, and by types."""
    if isinstance(value, str):
        fields.setdefault(path, []).append((value, place))
    elif isinstance(value, Mapping):
        marks = [each for key, each in value.items() if key == "type" or key.lower().endswith("index")]
        path = (*path, *(each for each in marks if isinstance(each, str | int)))
        for key, each in value.items():
            _add_pieces(each, (place, key), (*path, key), fields)
    else:
        for index, item in enumerate(_list(value)):
            _add_pieces(item, (place, index), path, fields)


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


def _shell_words(command: str) -> list[str]:
    """The words of a command as a shell reads them; as blanks separate them if a quote is not closed."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
