"""Redaction: find secrets in data that is about to be written, and take them out of recordings and reports."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, quote_plus

from pytest_chatprompt.capture.secrets.names import (
    MIN_SECRET_LENGTH,
    SecretKind,
    assignments,
    kind_of_key,
    looks_secret,
    secrets_of_header,
    secrets_of_url,
    secrets_of_variable,
    values_in_url,
)
from pytest_chatprompt.capture.secrets.shapes import Token, find_tokens
from pytest_chatprompt.providers.http.request_body import CONTENT_KEY, PARTS_KEY, part_name
from pytest_chatprompt.text.files import LONG_TEXT, remember_long, sections
from pytest_chatprompt.wording import data_place

if TYPE_CHECKING:
    import httpx


REDACTED: Final = "[secret]"
# What may stay as it is in a URL: nothing, a slash, what browsers leave, what httpx leaves in a path and in a query.
_SAFE_CHARACTERS: Final = ("", "/", "!'()*", "!$&'()*+,/:;=@[\\]^|", "!$&'()*+,/:;=?@[\\]^`{|}")
_BLOCK: Final = 4


class FoundSecret(NamedTuple):
    """A secret in data that is about to be written.

    Args:
        path: where it stands: `request.messages[0].content`.
        what: what it is, after `holds`: `the value of the environment variable OPENAI_API_KEY`.
    """

    path: str
    what: str


def secret_forms(secret: str) -> tuple[str, ...]:
    """The ways in which a secret may be written."""
    plain = secret.strip()
    data = plain.encode(errors="surrogatepass")
    encoded = [plain]
    for offset in range(3):
        # Base64 writes three bytes as four characters, so that a part of a text is written in three ways. The first and
        # the last character may belong to what surrounds it, too.
        text = base64.b64encode(bytes(offset) + data).decode("ascii")
        certain = text[(0, 2, 3)[offset] : (offset + len(data)) * 8 // 6]
        encoded += [certain, certain.replace("+", "-").replace("/", "_")]
    quoted = [quote(each, safe, errors="surrogatepass") for each in encoded for safe in _SAFE_CHARACTERS]
    escaped = [text[1:-1] for text in (json.dumps(plain), json.dumps(plain, ensure_ascii=False), repr(plain))]
    forms = (*encoded, *escaped, *quoted, quote_plus(plain, errors="surrogatepass"))
    return tuple(form for form in dict.fromkeys(forms) if len(form) >= MIN_SECRET_LENGTH)


class SecretForms:
    """The forms of many secrets. Searching takes as long for a thousand of them as for one. Safe between threads.

    The last seven bytes of a form hold a whole block of four bytes, wherever it stands, whose place in the text is a
    multiple of four. So it is enough to look up every fourth place of a text, and to search for the few forms found.
    """

    def __init__(self) -> None:
        # What each form stands for.
        self._names: dict[str, str] = {}
        self._by_block: dict[int, list[str]] = {}

    def add(self, secret: str, what: str) -> None:
        """Add the forms of a secret; one that is known already keeps its name."""
        for form in secret_forms(secret):
            if form in self._names:
                continue
            self._names[form] = what
            # The end, because many tokens begin with the same characters.
            end = form.encode(errors="surrogatepass")[1 - 2 * _BLOCK :]
            for start in range(_BLOCK):
                block = int.from_bytes(end[start : start + _BLOCK], sys.byteorder)
                self._by_block.setdefault(block, []).append(form)

    def within(self, text: str) -> list[tuple[str, str]]:
        """The forms that stand in a text, each with what it is."""
        data = text.encode(errors="surrogatepass")
        found = self._by_block.keys() & array("I", data[: len(data) // _BLOCK * _BLOCK])
        candidates = dict.fromkeys(form for block in found for form in self._by_block[block])
        return [(form, self._names[form]) for form in candidates if form in text]


# --- where secrets may stand in JSON data

# A place in JSON data: the place around it, and the key or index in that. `None` is the whole.
Place = tuple[Any, str | int] | None

_LONGEST_WORD: Final = 32
_SPECIAL_KEYS: Final = frozenset({PARTS_KEY, "argv", "body", "name", "request"})
# What strings begin with that hold other strings: URLs and JSON.
_OUTER_STARTS: Final = ("http", "{", "[")
_FORM: Final = re.compile(r"[^=&\s]+=[^&\s]*(?:&[^=&\s]+=[^&\s]*)*")
_URL: Final = re.compile(r"https?://\S+")
_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token)(?:\s+|\Z)", re.IGNORECASE)


class Payload:
    """What JSON data holds: its texts, and the values that look like a secret under the name of one."""

    def __init__(self, data: Any) -> None:
        # Keys and those in strings of JSON included.
        self.texts: list[tuple[str, Place]] = []
        self.named: list[tuple[str, str, Place]] = []
        self._add(data, None)

    def _add(self, value: Any, place: Place) -> None:
        if isinstance(value, str):
            self.texts.append((value, place))
            if value.startswith(_OUTER_STARTS):
                self._look_into(value, place)
        elif isinstance(value, (dict, Mapping)):
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
        self._check(key, value, inner)
        for index, item in enumerate(value if isinstance(value, list | tuple) else ()):
            self._check(key, item, (inner, index), in_list=True)
            if key == PARTS_KEY and isinstance(item, Mapping):
                self._check(part_name(item), item.get(CONTENT_KEY), ((inner, index), CONTENT_KEY))
        if key == "name":
            self._check(value, mapping.get("value"), (place, "value"))
        elif key == "argv" and place is None:
            # An argument may be a command for a shell: `sh -c "API_KEY=... agent"`.
            for name, argument in assignments(" ".join(map(str, value))):
                self._check(name, argument, inner)
        elif key in ("body", "request") and isinstance(value, str) and _FORM.fullmatch(value):
            for name, field_value in values_in_url(f"?{value}"):
                self._check(name, field_value, inner)

    def _look_into(self, text: str, place: Place) -> None:
        """Look into a string that is a URL or JSON data, and nothing else."""
        if text.startswith("http"):
            for name, value in values_in_url(text) if _URL.fullmatch(text) else ():
                self._check(name, value, place)
        elif text.rstrip().endswith(("}", "]")):
            with suppress(ValueError, RecursionError):
                self._add(json.loads(text), place)

    def _check(self, name: Any, value: Any, place: Place, *, in_list: bool = False) -> None:
        """Note a value that looks like a secret, if its name says that it is one; a list may hold names of a schema."""
        if not (isinstance(name, str) and isinstance(value, str)):
            return
        kind = kind_of_key(name)
        value = _SCHEME.sub("", value.strip(), count=1)
        if in_list and kind is SecretKind.PHRASE:
            kind = SecretKind.KEY
        if kind is not None and not any(map(str.isspace, value)) and looks_secret(value, kind):
            self.named.append((name, value, place))


def path_of(place: Place) -> tuple[str | int, ...]:
    """The keys and indexes that lead to a place."""
    return () if place is None else (*path_of(place[0]), place[1])


@lru_cache(maxsize=4096)
def _is_plain(key: str) -> bool:
    """Whether a key says nothing of its value."""
    return _is_word(key) and key not in _SPECIAL_KEYS and kind_of_key(key) is None


def _is_word(key: str) -> bool:
    return len(key) <= _LONGEST_WORD and key.replace("_", "").isalpha()


# Pytest sets it before each part of a test; as `os.environ` has it within, on POSIX and on Windows.
_CURRENT_TEST: Final = (b"PYTEST_CURRENT_TEST", "PYTEST_CURRENT_TEST")


class Redactor:
    """Knows the secrets of a run, finds them in data and removes them from text. Safe between threads.

    Args:
        environment: environment variables; variables that are set or changed later count too.
        allowed: patterns of texts that are not secrets.
    """

    def __init__(self, environment: Mapping[str, str], allowed: Sequence[re.Pattern[str]] = ()) -> None:
        self._environment = environment
        # The variables that were looked at, as `os.environ` has them within.
        self._variables: dict[Any, Any] = {}
        self._allowed = tuple(allowed)
        self._lock = threading.Lock()
        # The secrets, and each form that a secret may be written in, with what it is.
        self._secrets: set[str] = set()
        self._forms = SecretForms()
        self._holds_secret = remember_long(self._search)
        self.learn_environment()

    def add_agent_environment(self, variables: Mapping[str, str]) -> None:
        """Learn the secrets in the variables that an agent is started with."""
        for name, value in variables.items():
            self._add(secrets_of_variable(name, value), f"the value of {name} in the agent's env")

    def add_key(self, key: str, what: str) -> None:
        """Learn the key of a provider, under any name of its variable and its header."""
        self._add(() if key in self._secrets else secrets_of_variable("API_KEY", key), what)

    def add_headers(self, headers: Mapping[str, str]) -> None:
        """Learn the credentials in the headers of a request."""
        for name, value in headers.items():
            if value.rpartition(" ")[2] not in self._secrets:
                self._add(secrets_of_header(name, value), f"the value of the header {name.lower()}")

    def add_request(self, headers: Mapping[str, str], url: httpx.URL) -> None:
        """Learn the credentials in a request: in its headers, the query and the user info of its URL."""
        self.add_headers(headers)
        if url.query or url.userinfo:
            self._add(secrets_of_url(str(url)), "the value of a secret in the URL of a request")

    def learn_environment(self) -> None:
        """Learn the secrets in the variables that were set since the last time."""
        # `os.environ` decodes all of its variables to be read, which takes longer than a search; `_data` is its dict.
        variables = dict(getattr(self._environment, "_data", self._environment))
        for name in _CURRENT_TEST:
            variables.pop(name, None)
        # Fixtures set variables, so they have to be looked at again for each case.
        if variables != self._variables:
            for name, value in variables.items():
                if self._variables.get(name) != value:
                    what = f"the value of the environment variable {os.fsdecode(name)}"
                    self._add(secrets_of_variable(os.fsdecode(name), os.fsdecode(value)), what)
            # Last: until all are learned, other threads look at them too.
            self._variables = variables

    def find(self, data: Any) -> FoundSecret | None:
        """Find a secret in JSON data, as a snapshot shows it; `None` if there is none."""
        self.learn_environment()
        payload = Payload(data)
        # Before the search: it may be done in vain once another secret is known.
        holds_secret = self._holds_secret
        parts = dict.fromkeys(part for text, _ in payload.texts for part in sections(text))
        # No secret reaches across a zero, so one search does for all short strings.
        short = "\0".join(part for part in parts if len(part) < LONG_TEXT)
        if holds_secret(short) or any(holds_secret(part) for part in parts if len(part) >= LONG_TEXT):
            for text, place in payload.texts:
                for hit in self._hits(text):
                    return FoundSecret(self.redact(data_place(path_of(place))), hit.name)
        for name, value, place in payload.named:
            if not self._is_allowed(value):
                what = f"what looks like a secret by its name, {name!r}"
                return FoundSecret(self.redact(data_place(path_of(place))), self.redact(what))
        return None

    def redact(self, text: str) -> str:
        """Replace every secret in a text with `[secret]`; the rest of the text stays as it is."""
        self.learn_environment()
        return self._cut(text)

    def redact_data(self, data: Any) -> Any:
        """Put `[secret]` in place of every secret that `find` would find in JSON data; gives new data.

        A value under the name of a secret is replaced wherever it stands in the data. A string that holds a secret in a
        way that leaves no place to cut is replaced as a whole.
        """
        self.learn_environment()
        named = SecretForms()
        for name, value, _ in Payload(data).named:
            if not self._is_allowed(value):
                named.add(value, name)

        def redacted(text: str) -> str:
            text = self._cut(text, named)
            # What is left has other escapes than those of `secret_forms`.
            return REDACTED if text.startswith(_OUTER_STARTS) and self.find(text) is not None else text

        return _with_texts(data, redacted)

    def _search(self, text: str) -> bool:
        return bool(self._forms.within(text) or find_tokens(text))

    def _hits(self, text: str, named: SecretForms | None = None) -> list[Token]:
        """The secrets in a text, from left to right."""
        forms = self._forms.within(text) + (named.within(text) if named is not None else [])
        hits = [Token(*match.span(), what) for form, what in forms for match in re.finditer(re.escape(form), text)]
        hits += [token._replace(name=f"what looks like {token.name}") for token in find_tokens(text)]
        if hits and self._allowed:
            allowed = [match.span() for pattern in self._allowed for match in pattern.finditer(text)]
            hits = [hit for hit in hits if not any(start <= hit.start and hit.end <= end for start, end in allowed)]
        # What is known is told rather than what a shape looks like; of two that begin together, the longer one.
        return sorted(hits, key=lambda hit: (hit.start, -hit.end))

    def _cut(self, text: str, named: SecretForms | None = None) -> str:
        """Replace the secrets in a text; those that overlap are one."""
        result: list[str] = []
        position = 0
        for start, end, _ in self._hits(text, named):
            if start >= position:
                result += (text[position:start], REDACTED)
            position = max(position, end)
        return "".join((*result, text[position:])) if result else text

    def _is_allowed(self, secret: str) -> bool:
        """Whether a match of an allowed pattern covers all of a secret."""
        return any(match[0] == secret for pattern in self._allowed for match in pattern.finditer(secret))

    def _add(self, secrets: Iterable[str], what: str) -> None:
        for secret in secrets:
            if secret not in self._secrets and not self._is_allowed(secret):
                with self._lock:
                    self._secrets.add(secret)
                    self._forms.add(secret, what)
                    # What was remembered is true no more.
                    self._holds_secret = remember_long(self._search)


def map_texts(data: Any, change: Callable[[str], str]) -> Any:
    """Data with each text in it changed, keys included; the same object if nothing changes."""
    return _with_texts(data, change) if changes_texts([data], change) else data


def changes_texts(data: Iterable[Any], change: Callable[[str], str]) -> bool:
    """Whether `map_texts` would change any text in data; `change` gets all texts at once, with zeros between them."""
    texts = "\0".join(_texts(data))
    return change(texts) != texts


def _texts(data: Iterable[Any]) -> list[str]:
    """The texts in data; not one by one through generators, for each report has a hundred values."""
    texts = []
    for each in data:
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, dict):
            texts += _texts([*each, *each.values()])
        elif isinstance(each, (list, tuple)):
            texts += _texts(each)
    return texts


def _with_texts(data: Any, change: Callable[[str], str]) -> Any:
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {_with_texts(key, change): _with_texts(value, change) for key, value in data.items()}
    if isinstance(data, list | tuple):
        changed = [_with_texts(each, change) for each in data]
        return tuple(changed) if isinstance(data, tuple) else changed
    return data
