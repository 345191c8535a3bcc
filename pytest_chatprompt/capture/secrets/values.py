"""Secret values: whether a value is a secret or plain text.

The rule is for people to know, so it looks at the kinds of characters, not at entropy: docs/security.md states it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from pytest_chatprompt.capture.secrets.names import SecretKind

# Shorter values may be ordinary words of a prompt; no vendor's key is that short.
MIN_SECRET_LENGTH: Final = 8
_MIN_TOKEN_LENGTH: Final = 20
_MIN_DIFFERENT_CHARACTERS: Final = 4
_MOST_STEPS: Final = 200
# Base64 with slashes may hold shorter words by chance.
_LONGEST_CHANCE_WORD: Final = 3

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
    r"(?:change(?:me)?|dummy|example|fake|hidden|insert|mock|offline|placeholder|redacted|replace(?:me)?|sample|test|your)[0-9]*",
    re.IGNORECASE,
)
# AWS's documents mark their keys so; the subject of the token on jwt.io is John Doe; a masked key shows its ends.
_EXAMPLE: Final = re.compile(
    r"EXAMPLE.*|.*EXAMPLE(?:KEY)?|.*eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l.*"
    r"|\S{0,12}(?:\.{3}|…|\*{3})[.*]*\S{0,6}|\S+(?:\.{3}|…)",
    re.DOTALL,
)
_DIGEST: Final = re.compile(
    r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})(?:-\d+)?", re.IGNORECASE
)
# In base64: `{"`, `["` and `[{`. A token of a user has dots.
_STARTS_OF_JSON: Final = ("eyJ", "WyJ", "W3s")
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
    if _URL.match(value) or _is_path(value) or is_example(value):
        return False
    words = [word for word in _SEPARATORS.split(value) if word]
    is_placeholder = any(map(_WORD_OF_PLACEHOLDERS.fullmatch, words))
    if is_placeholder and all(map(_WORD_OR_NUMBER.fullmatch, words)):
        return False
    if kind is SecretKind.UNCERTAIN:
        return not all(_WORD_OR_NUMBER.fullmatch(word) for word in words)
    if not all(_WORD.fullmatch(word) for word in words):
        return True
    return kind is SecretKind.PHRASE


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


def is_example(value: str) -> bool:
    """Whether a value is a known example of documents, a masked secret, or one character over and over.

    Args:
        value: a secret, or what looks like one.
    """
    return _EXAMPLE.fullmatch(value) is not None or _share_of_steps(value, 0) > 1 / 2


def is_counted(value: str) -> bool:
    """Whether most of a value counts: `1234567890abcdef`."""
    return _share_of_steps(value, 1) > 1 / 2


def _share_of_steps(value: str, step: int) -> float:
    """The part of the characters that are so many steps behind the one before them."""
    steps = [ord(two) - ord(one) for one, two in pairwise(value[:_MOST_STEPS])]
    return steps.count(step) / max(len(steps), 1)


def names_data(value: str) -> bool:
    """Whether a value that looks random names data: it is a hash, a path or a name of a file, or the cursor of a page.

    Args:
        value: of a key of a body that may be a secret's or not, such as `key` and `token`.
    """
    if _DIGEST.fullmatch(value) or _FILE_EXTENSION.search(value):
        return True
    parts = value.split("/")
    if len(parts) > 1 and any(len(part) > _LONGEST_CHANCE_WORD and _ONE_WORD.fullmatch(part) for part in parts):
        return True
    return value.startswith(_STARTS_OF_JSON) and "." not in value


def _is_path(value: str) -> bool:
    """Whether a value is a path: of a file, or made of words; base64 may hold slashes too."""
    if _PATH.match(value) is not None and _FILE_EXTENSION.search(value):
        return True
    if _PATH.match(value) is None and not ("/" in value and _FILE_EXTENSION.search(value)):
        return False
    words = re.split(r"[-_./\\:, ~]+", value)
    return all(_WORD_OR_NUMBER.fullmatch(word) or _DIGEST.fullmatch(word) for word in words if word)
