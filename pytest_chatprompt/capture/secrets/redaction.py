"""Redaction: keep secrets out of snapshots, recordings and reports.

Environment variables, headers and URLs come in, and teach a `Redactor` which values are secret. Two things come out:
where a secret stands in data that is about to be written, and texts with their secrets replaced. The run's session owns
the one `Redactor` of a run; docs/security.md says what it finds.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_chatprompt.capture.secrets.encodings import decoded, encoded_forms
from pytest_chatprompt.capture.secrets.environment import WatchedEnvironment
from pytest_chatprompt.capture.secrets.fragments import MIN_FRAGMENT_LENGTH, find_fragments
from pytest_chatprompt.capture.secrets.names import is_secret_name
from pytest_chatprompt.capture.secrets.payload_strings import PayloadStrings, place_text
from pytest_chatprompt.capture.secrets.secret_forms import SecretForms
from pytest_chatprompt.capture.secrets.sources import secrets_of_header, secrets_of_url, secrets_of_variable
from pytest_chatprompt.capture.secrets.token_shapes import find_tokens
from pytest_chatprompt.capture.secrets.variants import Variant, variants

if TYPE_CHECKING:
    import httpx

    from pytest_chatprompt.prompt.shared_texts import SharedTexts

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


class _Hit(NamedTuple):
    start: int
    end: int
    what: str


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
        # Secrets and forms are replaced as a whole, so that other threads can go on with the old ones.
        self._secrets: frozenset[str] = frozenset()
        self._headers: set[tuple[str, str]] = set()
        self._forms = SecretForms()
        # Texts in which nothing was found, since the last secret was learned.
        self._clean: set[str] = set()
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
        if self._any_holds_secret([text for text, _ in payload.strings], shared):
            for text, place in payload.strings:
                for variant in variants(text):
                    for hit in self._hits(variant):
                        return FoundSecret(self.redact(place_text(place)), hit.what)
        for name, value, place in payload.named:
            if not self._is_allowed(value):
                what = f"what looks like a secret by its name, {name!r}"
                return FoundSecret(self.redact(place_text(place)), self.redact(what))
        return None

    def redact(self, text: str) -> str:
        """Replace every secret in a text with `[secret]`, in every encoding; the rest of the text stays as it is.

        What is left of a secret that was shortened is replaced too.

        Args:
            text: any text.
        """
        if len(text) < MIN_FRAGMENT_LENGTH:
            # pytest's terminal writes most of its texts in such pieces.
            return text
        self.learn_environment()
        # Before the search: a secret that another thread learns meanwhile replaces the set.
        clean = self._clean
        if text in clean:
            return text
        spans = list(find_fragments(text, self._secrets))
        if self._holds_secret(text):
            plain, *others = variants(text)
            spans += [(hit.start, hit.end) for hit in self._hits(plain)]
            for variant in others:
                hits = self._hits(variant)
                if hits:
                    traced = variant.traced(text)
                    spans += [traced.original_span(hit.start, hit.end) for hit in hits]
        if not spans and len(text) <= _LONGEST_CLEAN_TEXT:
            if len(clean) >= _MOST_CLEAN_TEXTS:
                clean.clear()
            clean.add(text)
        return _cut(text, spans)

    def redact_data(self, data: Any) -> Any:
        """Do as `redact` does with every string of JSON data, keys included; gives new data.

        Args:
            data: mappings become dicts, sequences lists.
        """
        if isinstance(data, str):
            return self.redact(data)
        if isinstance(data, Mapping):
            return {self.redact(key): self.redact_data(value) for key, value in data.items()}
        return [self.redact_data(item) for item in data] if isinstance(data, list | tuple) else data

    def _any_holds_secret(self, texts: Sequence[str], shared: SharedTexts | None) -> bool:
        """Return whether one of several texts may hold a secret."""
        if shared is not None:
            # Once another secret is known, the forms are another object.
            forms = self._forms
            texts = [shared.without_searched(text, "secret", self._holds_secret, forms) for text in texts]
        # Neither a secret nor an escape reaches across a zero, so one search does for all strings.
        return self._holds_secret("\0".join(_distinct(texts)))

    def _holds_secret(self, text: str) -> bool:
        """Return whether a text may hold a secret; faster than finding its place."""
        return self._shows_secret(text) or any(map(self._shows_secret, decoded(text, shorten=True)))

    def _shows_secret(self, text: str) -> bool:
        """Return whether a text may hold a secret without any escapes."""
        return self._forms.may_be_in(text) or bool(find_tokens(text))

    def _hits(self, variant: Variant) -> list[_Hit]:
        """The secrets in a variant of a text, at their places in the variant."""
        text = variant.text
        hits = []
        for form, what in self._forms.names.items():
            if form in text:
                hits += [_Hit(*match.span(), what) for match in re.finditer(re.escape(form), text)]
        if not variant.is_joined:
            hits += [_Hit(token.start, token.end, f"what looks like {token.name}") for token in find_tokens(text)]
        if hits and self._allowed:
            allowed = [match.span() for pattern in self._allowed for match in pattern.finditer(text)]
            hits = [hit for hit in hits if not any(start <= hit.start and hit.end <= end for start, end in allowed)]
        return hits

    def _is_allowed(self, secret: str) -> bool:
        """Whether a match of an allowed pattern covers all of a secret."""
        return any(match[0] == secret for pattern in self._allowed for match in pattern.finditer(secret))

    def _add(self, secrets: Iterable[str], what: str) -> None:
        for secret in secrets:
            if secret not in self._secrets and not self._is_allowed(secret):
                with self._lock:
                    self._secrets |= {secret}
                    self._forms = self._forms.with_forms(encoded_forms(secret), what)
                    self._clean = set()
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


def _cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Put `[secret]` in place of parts of a text; parts that overlap are one."""
    pieces: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start >= position:
            pieces += (text[position:start], REDACTED)
        position = max(position, end)
    return "".join((*pieces, text[position:])) if pieces else text
