"""Secret forms: the ways in which a secret may be written, and a fast search for those of all secrets of a run.

A secret is written as it is, in base64, percent-encoded, or with the escapes of JSON and Python. So a text is searched
for these forms, and never decoded: what is found stands in the text as it is.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from pytest_chatprompt.capture.secrets.values import MIN_SECRET_LENGTH

# Escapes within escapes: JSON in a string of JSON.
_LEVELS_OF_ESCAPES: Final = 2
# What may stay as it is in a URL: nothing, a slash, what browsers leave, what httpx leaves in a path and in a query.
_SAFE_CHARACTERS: Final = ("", "/", "!'()*", "!$&'()*+,/:;=@[\\]^|", "!$&'()*+,/:;=?@[\\]^`{|}")
_PERCENT_ESCAPE: Final = re.compile("%[0-9A-F]{2}")
_BLOCK: Final = 4
# So many are found faster one by one.
_FEW_FORMS: Final = 40


def secret_forms(secret: str) -> tuple[str, ...]:
    """The ways in which a secret may be written.

    Args:
        secret: any text; white space around it does not count.
    """
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
        """Add the forms of a secret; one that is known already keeps its name.

        Args:
            secret: any text.
            what: what it is: `the value of the environment variable OPENAI_API_KEY`.
        """
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
        """The forms that stand in a text, each with what it is.

        Args:
            text: any text.
        """
        candidates: Iterable[str] = self._names
        if len(self._names) > _FEW_FORMS:
            data = text.encode(errors="surrogatepass")
            blocks = memoryview(data)[: len(data) // _BLOCK * _BLOCK].cast("I")
            found = self._by_block.keys() & blocks
            candidates = dict.fromkeys(form for block in found for form in self._by_block[block])
        return [(form, self._names[form]) for form in tuple(candidates) if form in text]
