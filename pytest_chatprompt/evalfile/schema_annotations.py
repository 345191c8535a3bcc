"""Annotations for the JSON Schema of eval files: what the type of a field does not say about what authors may write.

In: the types, names and patterns of a field. Out: what `json_schema` reads; validation ignores it. The models of this
room are annotated with them. What costs anything is wrapped in a function, so that a run of pytest does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

NameKind = Literal["provider", "check"]


@dataclass(frozen=True, eq=False, slots=True)
class WrittenAs:
    """The type that authors write, where the field's own type is what a validator makes of it.

    Args:
        make_type: gives the type.
    """

    make_type: Callable[[], Any]


@dataclass(frozen=True, eq=False, slots=True)
class SchemaKeywords:
    """Keywords of JSON Schema for a rule that only a validator knows.

    Args:
        make_keywords: gives them, by name.
    """

    make_keywords: Callable[[], dict[str, Any]]


@dataclass(frozen=True, eq=False, slots=True)
class KnownNames:
    """A text for which editors propose the known names; any other text is valid too, since users add names.

    Args:
        kind: what it names.
    """

    kind: NameKind


@dataclass(frozen=True, eq=False, slots=True)
class OtherKeys:
    """The keys that a mapping may have beside those of its model.

    Args:
        mapping: the type of a mapping with these keys, such as `dict[str, int]`.
    """

    mapping: Any


def pattern(make_pattern: Callable[[], str]) -> SchemaKeywords:
    """A pattern that a text has to match."""
    return SchemaKeywords(lambda: {"pattern": make_pattern()})


def path_pattern(suffixes: Iterable[str]) -> str:
    """A pattern of paths that end in one of several suffixes, in upper or lower case.

    Args:
        suffixes: with their dots, of small letters.
    """
    return rf"\.({'|'.join(map(_in_any_case, (suffix.removeprefix('.') for suffix in suffixes)))})$"


def word_pattern(word: str) -> str:
    """A pattern of texts with the letters of a word, in upper or lower case, and no other ASCII letters.

    Args:
        word: small letters.
    """
    return "^[^A-Za-z]*" + "".join(f"{_in_any_case(letter)}[^A-Za-z]*" for letter in word) + "$"


def characters_pattern(is_allowed: Callable[[str], bool]) -> str:
    """A pattern of one character, which any character outside of ASCII matches.

    Editors know other letters than Python does, so a pattern is strict for ASCII alone.

    Args:
        is_allowed: whether a character of ASCII is valid.
    """
    refused = [code for code in range(128) if not is_allowed(chr(code))]
    # The code minus its index is the same for all codes of a range.
    ranges = [[code for _, code in run] for _, run in groupby(enumerate(refused), lambda item: item[1] - item[0])]
    return "[^" + "".join(rf"\x{codes[0]:02x}-\x{codes[-1]:02x}" for codes in ranges) + "]"


def _in_any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter}]" for letter in word)
