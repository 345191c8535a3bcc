"""Redaction: keep secrets out of snapshots, recordings and reports.

Environment variables, headers and URLs teach a `Redactor` which values are secret. It searches data that is about to be
written for these, for tokens of a known shape and for values under the name of a secret. A snapshot with a secret is
refused; in a recording and in a report `[secret]` stands in its place. docs/security.md says what it finds.
"""

from __future__ import annotations

import base64
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_chatprompt.capture.secrets.names import is_secret_name
from pytest_chatprompt.capture.secrets.payload_strings import PayloadStrings, Place, place_text
from pytest_chatprompt.capture.secrets.secret_forms import SecretForms
from pytest_chatprompt.capture.secrets.sources import (
    NAME_OF_TEST,
    secrets_of_header,
    secrets_of_url,
    secrets_of_variable,
)
from pytest_chatprompt.capture.secrets.token_shapes import find_tokens
from pytest_chatprompt.capture.secrets.values import MIN_SECRET_LENGTH

if TYPE_CHECKING:
    import httpx

    from pytest_chatprompt.text.shared_texts import SharedTexts

REDACTED: Final = "[secret]"
# Shorter texts are searched faster than they are looked for in others.
_LONG_TEXT: Final = 500
# A failure is redacted whenever a plugin may have changed its report, and most of its texts are the same each time.
_MOST_CLEAN_TEXTS: Final = 100
_LONGEST_CLEAN_TEXT: Final = 10_000


class FoundSecret(NamedTuple):
    """A secret in data that is about to be written.

    Args:
        path: where it stands: `request.messages[0].content`.
        what: what it is, after `holds`: `the value of the environment variable OPENAI_API_KEY`.
    """

    path: str
    what: str


# Where a part of a text begins and ends, and what comes into its place.
_Cut = tuple[int, int, str]


class _Hit(NamedTuple):
    start: int
    end: int
    what: str


class WatchedEnvironment:
    """Environment variables, and what they were at the last look. Safe between threads.

    Args:
        variables: by name; such as `os.environ`.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        # On POSIX the keys of `os.environ` are bytes within it.
        self._name_of_test: Any = getattr(variables, "encodekey", str)(NAME_OF_TEST)
        self._known: dict[Any, Any] = {}

    def changes(self) -> Iterator[tuple[str, str]]:
        """The names and values of the variables that were set since the last time; all of them at first."""
        # `os.environ` decodes all of its variables to be compared, which takes longer than a search; `_data` is its
        # dict.
        variables = getattr(self._variables, "_data", self._variables)
        known = self._known
        name_of_test = variables.get(self._name_of_test)
        if name_of_test is None:
            known.pop(self._name_of_test, None)
        else:
            # It is another one in each phase of each test, and of no interest.
            known[self._name_of_test] = name_of_test
        # Fixtures set variables, so they have to be looked at again for each case.
        if variables == known:
            return
        variables = dict(variables)
        for name, value in variables.items():
            if known.get(name) != value:
                yield os.fsdecode(name), os.fsdecode(value)
        # Last: until somebody has used all of them, another thread gets them too.
        self._known = variables


class Redactor:
    """Knows the secrets of a run, finds them in data and removes them from text. Safe between threads.

    Args:
        environment: environment variables; variables that are set or changed later count too.
        allowed: patterns of texts that are not secrets.
    """

    def __init__(self, environment: Mapping[str, str], allowed: Sequence[re.Pattern[str]] = ()) -> None:
        self._environment = WatchedEnvironment(environment)
        self._allowed = tuple(allowed)
        self._lock = threading.Lock()
        # The secrets, the headers that were looked at, and each form that a secret may be written in, with what it is.
        self._secrets: set[str] = set()
        self._headers: set[tuple[str, str]] = set()
        self._forms = SecretForms()
        # Texts in which nothing was found, since the last secret was learned; and a version of the secrets.
        self._clean: set[str] = set()
        self._version = object()
        self._learned = 0
        self.learn_environment()

    def add_agent_environment(self, variables: Mapping[str, str]) -> None:
        """Learn the secrets in the variables that an agent is started with.

        Args:
            variables: by name.
        """
        for name, value in variables.items():
            self._add(secrets_of_variable(name, value), f"the value of {name} in the agent's env")

    def add_key(self, key: str, what: str) -> None:
        """Learn the key of a provider, under any name of its variable and its header.

        Args:
            key: the key; a plain word is not a secret, as everywhere.
            what: what it is: `the key of Mistral`.
        """
        self._add(secrets_of_variable("API_KEY", key), what)

    def add_headers(self, headers: Mapping[str, str]) -> None:
        """Learn the credentials in the headers of a request.

        Args:
            headers: by name.
        """
        for name, value in headers.items():
            if is_secret_name(name) and (name, value) not in self._headers:
                self._headers.add((name, value))
                self._add(secrets_of_header(name, value), f"the value of the header {name.lower()}")

    def add_request(self, headers: Mapping[str, str], url: httpx.URL) -> None:
        """Learn the credentials in a request: in its headers, the query and the user info of its URL.

        Args:
            headers: by name.
            url: as it is sent.
        """
        self.add_headers(headers)
        if url.query or url.userinfo:
            self._add(secrets_of_url(str(url)), "the value of a secret in the URL of a request")

    def learn_environment(self) -> int:
        """Learn the secrets in the variables that were set since the last time.

        Returns:
            How many secrets have been learned so far: a text without one may hold one as soon as there are more.
        """
        for name, value in self._environment.changes():
            self._add(secrets_of_variable(name, value), f"the value of the environment variable {name}")
        return self._learned

    def find(self, data: Any, shared: SharedTexts | None = None) -> FoundSecret | None:
        """Find a secret in JSON data, as a snapshot shows it; `None` if there is none.

        Args:
            data: the data of a snapshot, or any other.
            shared: long texts in the data of many snapshots; each is searched once, until another secret is known.
        """
        self.learn_environment()
        payload = PayloadStrings.of(data)
        texts = payload.texts
        if self._any_holds_secret([text for text, _ in texts], shared):
            for text, place in texts:
                for hit in self._hits(text):
                    return FoundSecret(self.redact(place_text(place)), hit.what)
        for name, value, place in payload.named:
            if not self._is_allowed(value):
                what = f"what looks like a secret by its name, {name!r}"
                return FoundSecret(self.redact(place_text(place)), self.redact(what))
        return None

    def redact(self, text: str) -> str:
        """Replace every secret in a text with `[secret]`; the rest of the text stays as it is.

        Args:
            text: any text.
        """
        if len(text) < MIN_SECRET_LENGTH:
            # pytest's terminal writes most of its texts in such pieces.
            return text
        self.learn_environment()
        # Before the search: a secret that another thread learns meanwhile replaces the set.
        clean = self._clean
        if text in clean:
            return text
        hits = self._hits(text)
        if not hits and len(text) <= _LONGEST_CLEAN_TEXT:
            if len(clean) >= _MOST_CLEAN_TEXTS:
                clean.clear()
            clean.add(text)
        return _cut(text, [(hit.start, hit.end, REDACTED) for hit in hits])

    def redact_data(self, data: Any) -> Any:
        """Put `[secret]` in place of every secret that `find` would find in JSON data; gives new data.

        A value under the name of a secret is replaced wherever it stands in the data. Of a text that a stream sends in
        pieces, the first piece of a secret is replaced, and the others are cut out. Bytes in base64 stay base64. A
        string is replaced as a whole if it holds a secret in a way that leaves no place to cut.

        Args:
            data: mappings become dicts, sequences lists.
        """
        self.learn_environment()
        payload = PayloadStrings.of(data)
        named = SecretForms()
        for name, value, _ in payload.named:
            if not self._is_allowed(value):
                named.add(value, name)
        cuts: dict[Place, list[_Cut]] = {}
        for text, place in payload.strings:
            cuts[place] = [(hit.start, hit.end, REDACTED) for hit in self._hits(text, named)]
        for pieces in payload.streamed:
            for hit in self._hits("".join([text for text, _ in pieces]), named):
                for place, cut in _cuts_of_pieces(pieces, hit):
                    cuts[place].append(cut)
        new = {place: _cut(text, cuts[place]) for text, place in payload.strings if cuts[place]}
        for text, place in payload.binary:
            content = _cut(text, [(hit.start, hit.end, REDACTED) for hit in self._hits(text, named)])
            new[place] = base64.b64encode(content.encode(errors="surrogateescape")).decode("ascii")
        redacted = _rebuilt(
            data, None, new, lambda key: _cut(key, [(*hit[:2], REDACTED) for hit in self._hits(key, named)])
        )
        return self._without_the_rest(redacted)

    def _without_the_rest(self, data: Any) -> Any:
        """Replace strings as a whole that still hold a secret: with other escapes than those of `secret_forms`."""
        payload = PayloadStrings.of(data)
        places = [place for text, place in payload.texts if self._hits(text)]
        places += [place for _, value, place in payload.named if not self._is_allowed(value)]
        if not places:
            return data
        strings = {place for _, place in payload.strings}
        whole: dict[Place, str] = {}
        for inner in places:
            place = inner
            while place is not None and place not in strings:
                # It stands in the JSON data of a string.
                place = place[0]
            for pieces in payload.streamed:
                if pieces[0][1] == place:
                    whole.update((other, "") for _, other in pieces)
            whole[place] = REDACTED
        return _rebuilt(data, None, whole, str)

    def _any_holds_secret(self, texts: Sequence[str], shared: SharedTexts | None) -> bool:
        """Return whether one of several texts holds a secret."""
        if shared is not None:
            # Before the search: once another secret is known, the version is another one.
            version = self._version
            texts = [shared.without_searched(text, "secret", self._holds_secret, version) for text in texts]
        # No secret reaches across a zero, so one search does for all strings.
        return self._holds_secret("\0".join(_distinct(texts)))

    def _holds_secret(self, text: str) -> bool:
        return bool(self._forms.within(text) or find_tokens(text))

    def _hits(self, text: str, named: SecretForms | None = None) -> list[_Hit]:
        """The secrets in a text, from left to right.

        Args:
            text: any text.
            named: values under the names of secrets, which are secrets too.
        """
        forms = self._forms.within(text) + (named.within(text) if named is not None else [])
        hits = [_Hit(*match.span(), what) for form, what in forms for match in re.finditer(re.escape(form), text)]
        hits += [_Hit(token.start, token.end, f"what looks like {token.name}") for token in find_tokens(text)]
        if hits and self._allowed:
            allowed = [match.span() for pattern in self._allowed for match in pattern.finditer(text)]
            hits = [hit for hit in hits if not any(start <= hit.start and hit.end <= end for start, end in allowed)]
        # What is known is told rather than what a shape looks like; of two that begin together, the longer one.
        return sorted(hits, key=lambda hit: (hit.start, -hit.end))

    def _is_allowed(self, secret: str) -> bool:
        """Whether a match of an allowed pattern covers all of a secret."""
        return any(match[0] == secret for pattern in self._allowed for match in pattern.finditer(secret))

    def _add(self, secrets: Iterable[str], what: str) -> None:
        for secret in secrets:
            if secret not in self._secrets and not self._is_allowed(secret):
                with self._lock:
                    self._secrets.add(secret)
                    self._forms.add(secret, what)
                    self._clean = set()
                    self._version = object()
                    # Last: whoever knows of this secret finds it.
                    self._learned += 1


def _distinct(texts: Sequence[str]) -> list[str]:
    """The texts without those that stand in the longest: a snapshot holds each prompt twice."""
    longest = max(texts, key=len, default="")
    if len(longest) < _LONG_TEXT:
        return list(dict.fromkeys(texts))
    others = dict.fromkeys(texts)
    others.pop(longest, None)
    return [longest, *(text for text in others if len(text) < _LONG_TEXT or not _stands_in(text, longest))]


def _stands_in(text: str, longest: str) -> bool:
    """Whether lines of a text are a text, so that its secrets and escapes are also those of the longer text."""
    start = longest.find(text[:_LONG_TEXT])
    return (
        start >= 0
        and longest[max(start - 1, 0) : start] in ("", "\n")
        and longest[start + len(text) : start + len(text) + 1] in ("", "\n")
        and longest.startswith(text, start)
    )


def _cut(text: str, cuts: Iterable[_Cut]) -> str:
    """Replace parts of a text; parts that overlap are one."""
    result: list[str] = []
    position = 0
    for start, end, replacement in sorted(cuts):
        if start >= position:
            result += (text[position:start], replacement)
        position = max(position, end)
    return "".join((*result, text[position:])) if result else text


def _cuts_of_pieces(pieces: Sequence[tuple[str, Place]], hit: _Hit) -> Iterator[tuple[Place, _Cut]]:
    """What to cut out of the pieces of a text, if a secret stands in the whole of it."""
    offset = 0
    for text, place in pieces:
        start, end = max(hit.start - offset, 0), min(hit.end - offset, len(text))
        if start < end:
            yield place, (start, end, REDACTED if offset <= hit.start else "")
        offset += len(text)


def _rebuilt(data: Any, place: Place, new: Mapping[Place, str], redact_key: Callable[[str], str]) -> Any:
    """JSON data with other strings at some places."""
    if isinstance(data, str):
        return new.get(place, data)
    if isinstance(data, Mapping):
        return {redact_key(key): _rebuilt(value, (place, key), new, redact_key) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_rebuilt(item, (place, index), new, redact_key) for index, item in enumerate(data)]
    return data
