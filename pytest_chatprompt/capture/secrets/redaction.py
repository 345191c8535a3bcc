"""Redaction: find secrets in data that is about to be written, and take them out of recordings and reports."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from pytest_chatprompt.capture.secrets.names import (
    MIN_SECRET_LENGTH,
    SecretKind,
    is_secret_name,
    kind_of_key,
    looks_random,
    looks_secret,
    names_data,
    secrets_of_header,
    secrets_of_url,
    secrets_of_variable,
)
from pytest_chatprompt.capture.secrets.shapes import Token, find_tokens
from pytest_chatprompt.providers.http.request_body import BINARY_KEY, CONTENT_KEY, PARTS_KEY, part_name

if TYPE_CHECKING:
    import httpx

    from pytest_chatprompt.text.shared_texts import SharedTexts

REDACTED: Final = "[secret]"
# Where a recording keeps the events of a stream.
_STREAM_KEYS: Final = ("events", "body")
# Escapes within escapes: JSON in a string of JSON.
_LEVELS_OF_ESCAPES: Final = 2
# What may stay as it is in a URL: nothing, a slash, what browsers leave, what httpx leaves in a path and in a query.
_SAFE_CHARACTERS: Final = ("", "/", "!'()*", "!$&'()*+,/:;=@[\\]^|", "!$&'()*+,/:;=?@[\\]^`{|}")
_PERCENT_ESCAPE: Final = re.compile("%[0-9A-F]{2}")
_BLOCK: Final = 4
# So many are found faster one by one.
_FEW_FORMS: Final = 40


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
    data = _bytes(plain)
    forms = [plain]
    for _ in range(_LEVELS_OF_ESCAPES):
        forms = list(dict.fromkeys([*forms, *(escaped for form in forms for escaped in _escaped(form))]))
    forms.append(repr(data)[2:-1])
    for offset in range(3):
        # Base64 writes three bytes as four characters, so that a part of a text is written in three ways. The first and
        # the last character may belong to what surrounds it, too.
        text = base64.b64encode(bytes(offset) + data).decode("ascii")
        certain = text[(0, 2, 3)[offset] : (offset + len(data)) * 8 // 6]
        forms += [certain, certain.replace("+", "-").replace("/", "_"), *_percent_encoded(certain.encode())]
    forms += [*_percent_encoded(data), quote_plus(data)]
    return tuple(form for form in dict.fromkeys(forms) if len(form) >= MIN_SECRET_LENGTH)


def _escaped(text: str) -> Iterator[str]:
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    for write in (repr, ascii):
        yield write(text)[1:-1]
        # Beside a double quote a single one is escaped.
        yield write(f'"{text}')[2:-1]


def _percent_encoded(data: bytes) -> Iterator[str]:
    for safe in _SAFE_CHARACTERS:
        text = quote(data, safe=safe)
        yield text
        yield _PERCENT_ESCAPE.sub(lambda escape: escape[0].lower(), text)


def _bytes(text: str) -> bytes:
    """The bytes of a text; a variable that is not valid UTF-8 keeps its own, and half a surrogate pair is encoded."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")


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
        candidates: Iterable[str] = self._names
        if len(self._names) > _FEW_FORMS:
            data = text.encode(errors="surrogatepass")
            blocks = memoryview(data)[: len(data) // _BLOCK * _BLOCK].cast("I")
            found = self._by_block.keys() & blocks
            candidates = dict.fromkeys(form for block in found for form in self._by_block[block])
        return [(form, self._names[form]) for form in tuple(candidates) if form in text]


# --- where secrets may stand in JSON data

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
        # The secrets, the headers that were looked at, and each form that a secret may be written in, with what it is.
        self._secrets: set[str] = set()
        self._headers: set[tuple[str, str]] = set()
        self._forms = SecretForms()
        self._learned = 0
        self.learn_environment()

    def add_agent_environment(self, variables: Mapping[str, str]) -> None:
        """Learn the secrets in the variables that an agent is started with."""
        for name, value in variables.items():
            self._add(secrets_of_variable(name, value), f"the value of {name} in the agent's env")

    def add_key(self, key: str, what: str) -> None:
        """Learn the key of a provider, under any name of its variable and its header."""
        self._add(secrets_of_variable("API_KEY", key), what)

    def add_headers(self, headers: Mapping[str, str]) -> None:
        """Learn the credentials in the headers of a request."""
        for name, value in headers.items():
            if is_secret_name(name) and (name, value) not in self._headers:
                self._headers.add((name, value))
                self._add(secrets_of_header(name, value), f"the value of the header {name.lower()}")

    def add_request(self, headers: Mapping[str, str], url: httpx.URL) -> None:
        """Learn the credentials in a request: in its headers, the query and the user info of its URL."""
        self.add_headers(headers)
        if url.query or url.userinfo:
            self._add(secrets_of_url(str(url)), "the value of a secret in the URL of a request")

    def learn_environment(self) -> int:
        """Learn the secrets in the variables that were set since the last time; gives how many are known by now."""
        # `os.environ` decodes all of its variables to be read, which takes longer than a search; `_data` is its dict.
        variables = dict(getattr(self._environment, "_data", self._environment))
        # Fixtures set variables, so they have to be looked at again for each case.
        if variables != self._variables:
            for name, value in variables.items():
                if self._variables.get(name) != value:
                    what = f"the value of the environment variable {os.fsdecode(name)}"
                    self._add(secrets_of_variable(os.fsdecode(name), os.fsdecode(value)), what)
            # Last: until all are learned, other threads look at them too.
            self._variables = variables
        return self._learned

    def find(self, data: Any, shared: SharedTexts | None = None) -> FoundSecret | None:
        """Find a secret in JSON data, as a snapshot shows it; `None` if there is none.

        Args:
            data: the data of a snapshot, or any other.
            shared: long texts in the data of many snapshots; each is searched once, until another secret is known.
        """
        self.learn_environment()
        payload = Payload.of(data)
        if self._any_holds_secret([text for text, _ in payload.texts], shared):
            for text, place in payload.texts:
                for hit in self._hits(text):
                    return FoundSecret(self.redact(place_text(place)), hit.name)
        for name, value, place in payload.named:
            if not self._is_allowed(value):
                what = f"what looks like a secret by its name, {name!r}"
                return FoundSecret(self.redact(place_text(place)), self.redact(what))
        return None

    def redact(self, text: str) -> str:
        """Replace every secret in a text with `[secret]`; the rest of the text stays as it is."""
        self.learn_environment()
        return self._cut(text)

    def redact_data(self, data: Any) -> Any:
        """Put `[secret]` in place of every secret that `find` would find in JSON data; gives new data.

        A value under the name of a secret is replaced wherever it stands in the data. Bytes in base64 stay base64. A
        string is replaced as a whole if it holds a secret in a way that leaves no place to cut. If a stream sends one
        in pieces, the first piece of its text has the whole of it.
        """
        self.learn_environment()
        named = SecretForms()
        for name, value, _ in Payload.of(data).named:
            if not self._is_allowed(value):
                named.add(value, name)
        return self._redacted(data, named, "")

    def _redacted(self, data: Any, named: SecretForms, key: str) -> Any:
        if isinstance(data, str):
            return self._redacted_text(data, named, is_binary=key == BINARY_KEY)
        if isinstance(data, Mapping):
            return {self._cut(key, named): self._redacted(value, named, key) for key, value in data.items()}
        if isinstance(data, list | tuple):
            items = [self._redacted(item, named, "") for item in data]
            if key in _STREAM_KEYS:
                self._redact_stream(items)
            return items
        return data

    def _redact_stream(self, events: list[Any]) -> None:
        """Look at what the same field of several events says as one text: a client joins it too."""
        fields: dict[tuple[Any, ...], list[tuple[Any, Any]]] = {}
        _add_pieces(events, (), fields)
        for pieces in fields.values():
            text = "".join([container[key] for container, key in pieces])
            if len(pieces) > 1 and (clean := self.redact_data(text)) != text:
                for container, key in pieces:
                    container[key], clean = clean, ""

    def _redacted_text(self, text: str, named: SecretForms, *, is_binary: bool) -> str:
        content = decoded(text) if is_binary else None
        if content is not None and (clean := self._cut(content, named)) != content:
            return base64.b64encode(clean.encode(errors="surrogateescape")).decode("ascii")
        text = self._cut(text, named)
        # What is left has other escapes than those of `secret_forms`.
        return REDACTED if text.startswith(OUTER_STARTS) and self.find(text) is not None else text

    def _any_holds_secret(self, texts: Sequence[str], shared: SharedTexts | None) -> bool:
        """Return whether one of several texts holds a secret."""
        if shared is not None:
            # Before the search: it may be done in vain once another secret is known.
            version = self._learned
            texts = [shared.without_searched(text, "secret", self._holds_secret, version) for text in texts]
        # No secret reaches across a zero, so one search does for all strings.
        return self._holds_secret("\0".join(dict.fromkeys(texts)))

    def _holds_secret(self, text: str) -> bool:
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
                    # Last: whoever knows of this secret finds it.
                    self._learned += 1


def _add_pieces(
    data: dict[str, Any] | list[Any], path: tuple[Any, ...], fields: dict[tuple[Any, ...], list[tuple[Any, Any]]]
) -> None:
    """Add where the strings of events stand to the fields of their stream: by keys, by indices and by types."""
    if isinstance(data, dict):
        path = (*path, *(str(each) for key, each in data.items() if key == "type" or key.lower().endswith("index")))
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        here = (*path, key) if isinstance(data, dict) else path
        if isinstance(value, str):
            fields.setdefault(here, []).append((data, key))
        elif isinstance(value, dict | list):
            _add_pieces(value, here, fields)


def map_texts(data: Any, change: Callable[[str], str]) -> Any:
    """Data with each text in it changed, keys included; the same object if nothing changes.

    `change` may be called with several texts at once, with a zero between them.
    """
    texts = "\0".join(_texts(data))
    return data if change(texts) == texts else _with_texts(data, change)


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        yield from _texts([*data, *data.values()])
    elif isinstance(data, list | tuple):
        for each in data:
            yield from _texts(each)


def _with_texts(data: Any, change: Callable[[str], str]) -> Any:
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {_with_texts(key, change): _with_texts(value, change) for key, value in data.items()}
    if isinstance(data, list | tuple):
        changed = [_with_texts(each, change) for each in data]
        return tuple(changed) if isinstance(data, tuple) else changed
    return data
