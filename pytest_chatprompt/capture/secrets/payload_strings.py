"""Payload strings: every string of a payload with its place, and the values that stand under the name of a secret.

The JSON data of a snapshot comes in, `PayloadStrings` come out. Pure; only `redaction` calls it. What a snapshot shows
of a request has shapes of its own: the command line of an agent, the bytes and the parts of a body that is not JSON.
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

from pytest_chatprompt.capture.body import BINARY_KEY, CONTENT_KEY, ENCODING_KEY, PARTS_KEY, part_name
from pytest_chatprompt.capture.secrets.names import SecretKind, kind_of_key
from pytest_chatprompt.capture.secrets.values import looks_random, looks_secret

# A place in JSON data: the place around it, and the key or index in that. `None` is the whole.
Place = tuple[Any, str | int] | None

_LONGEST_WORD: Final = 32
_SPECIAL_KEYS: Final = frozenset({BINARY_KEY, PARTS_KEY, "arguments", "argv", "name", "request"})
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
        named: the values that stand under the name of a secret.
    """

    strings: list[tuple[str, Place]] = field(default_factory=list)
    named: list[NamedValue] = field(default_factory=list)

    @classmethod
    def of(cls, data: Any) -> PayloadStrings:
        """Collect the strings of JSON data."""
        payload = cls()
        payload._add(data, None)
        return payload

    def _add(self, value: Any, place: Place) -> None:
        if isinstance(value, str):
            self._add_text(value, place)
        elif isinstance(value, (dict, Mapping)):
            self._add_mapping(value, place)
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self._add(item, (place, index))

    def _add_text(self, text: str, place: Place) -> None:
        self.strings.append((text, place))
        if text.startswith("http"):
            self._check_url(text, place)

    def _add_mapping(self, mapping: Mapping[str, Any], place: Place) -> None:
        for key, value in mapping.items():
            if type(value) is str and not value.startswith("http"):
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
        self._check(key, value, inner)
        for index, item in enumerate(_list(value)):
            self._check(key, item, (inner, index), in_list=True)
            if key == PARTS_KEY and isinstance(item, Mapping):
                self._check(part_name(item), item.get(CONTENT_KEY), ((inner, index), CONTENT_KEY))
        if key == "name":
            self._check(value, mapping.get("value"), (place, "value"))
        elif key == BINARY_KEY and isinstance(value, str) and mapping.keys() <= {BINARY_KEY, ENCODING_KEY}:
            with suppress(ValueError):
                self.strings.append((base64.b64decode(value).decode(errors="replace"), inner))
        elif key == "arguments" and isinstance(value, str):
            self._check_json(value, inner)
        elif key == "request" and isinstance(value, str):
            self._check_form(value, inner)
            self._check_json(value, inner)
        elif key == "argv" and place is None:
            self._check_arguments(_list(value), inner)

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
        if looks_random(value) if kind is SecretKind.UNCERTAIN else looks_secret(value, kind):
            self.named.append(NamedValue(name, value, place))

    def _check_url(self, text: str, place: Place) -> None:
        """Look into a string that is a URL and nothing else."""
        url = _URL.fullmatch(text)
        if url is not None:
            self._check("password", unquote(url[1] or ""), place)
            self._check_form(url[2] or "", place)

    def _check_json(self, text: str, place: Place) -> None:
        """Look into a text that is JSON, such as the arguments of a tool call."""
        with suppress(ValueError, RecursionError):
            embedded = PayloadStrings()
            embedded._add(json.loads(text), place)
            self.named += embedded.named

    def _check_form(self, text: str, place: Place) -> None:
        """Look into a text of the form `name=value&name=value`."""
        if _FORM.fullmatch(text):
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
