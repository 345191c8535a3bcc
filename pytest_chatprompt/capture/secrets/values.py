"""Secret values: whether a value is a secret or plain text.

A value and what its name says come in; yes or no comes out. The rule is for people to know, so it looks at the kinds of
characters, not at entropy: docs/security.md states it. Pure functions; the modules of this room call them.
"""

from __future__ import annotations

import re
from typing import Final

from pytest_chatprompt.capture.secrets.names import SecretKind

# Shorter values may be ordinary words of a prompt; no vendor's key is that short.
MIN_SECRET_LENGTH: Final = 8
_MIN_TOKEN_LENGTH: Final = 20
_MIN_DIFFERENT_CHARACTERS: Final = 4

_NUMBER: Final = re.compile(r"[-+]?[0-9][0-9.,:/ _-]*")
_SEPARATORS: Final = re.compile(r"[-_./:,@ ]+")
# A word, an abbreviation, or words as in `customerId`.
_WORD: Final = re.compile(r"[A-Za-z][a-z]{0,19}(?:[A-Z][a-z]{2,19}){0,5}|[A-Z]{2,20}")
_ONE_WORD: Final = re.compile(r"[A-Za-z][a-z]{0,19}|[A-Z]{1,20}")
# The same with a number, as in `gpt4` and `ipv6Address`, and numbers, as in `4o` and `20241022`.
_WORD_OR_NUMBER: Final = re.compile(
    rf"(?:{_WORD.pattern})(?:[0-9]{{1,4}}(?:[A-Z][a-z]{{2,19}}){{0,5}})?|[0-9]{{1,4}}[a-z]{{0,2}}|20[0-9]{{6}}"
)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PATH: Final = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]")
_FILE_EXTENSION: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")
_PLACEHOLDER: Final = re.compile(r"<.*>|\$\{?\w+\}?|\{\{? ?[\w.]+ ?\}?\}|%\w+%|\[[\w .-]*\]")
_WORD_OF_PLACEHOLDERS: Final = re.compile(
    r"change(?:me)?|dummy|example|fake|hidden|insert|offline|placeholder|redacted|replace(?:me)?|sample|your",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/=_.~-]+")
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def looks_secret(value: str, kind: SecretKind) -> bool:
    """Whether a value is a secret, and not a short text, a number, words, a path, a URL or a placeholder.

    Args:
        value: without white space around it.
        kind: what the name of the value says.
    """
    if len(value) < MIN_SECRET_LENGTH or len(set(value)) < _MIN_DIFFERENT_CHARACTERS:
        return False
    if any(pattern.fullmatch(value) for pattern in (_NUMBER, _ONE_WORD, _PLACEHOLDER)):
        return False
    if _URL.match(value) or _is_path(value):
        return False
    words = [word for word in _SEPARATORS.split(value) if word]
    if kind is SecretKind.UNCERTAIN:
        return not all(_WORD_OR_NUMBER.fullmatch(word) for word in words)
    if not all(_WORD.fullmatch(word) for word in words):
        return True
    return kind is SecretKind.PHRASE and not any(_WORD_OF_PLACEHOLDERS.fullmatch(word) for word in words)


def looks_random(value: str) -> bool:
    """Whether a value looks secret under any name: long, of letters and digits, and neither words nor a UUID.

    Args:
        value: without white space around it.
    """
    return (
        len(value) >= _MIN_TOKEN_LENGTH
        and _TOKEN.fullmatch(value) is not None
        and _UUID.fullmatch(value) is None
        and looks_secret(value, SecretKind.UNCERTAIN)
    )


def _is_path(value: str) -> bool:
    """Whether a value is a path: of a file, or made of words; base64 may begin with a slash too."""
    if _PATH.match(value) is None:
        return False
    if _FILE_EXTENSION.search(value):
        return True
    return all(_WORD_OR_NUMBER.fullmatch(word) for word in re.split(r"[-_./\\:, ~]+", value) if word)
