"""The smallest valid string of a JSON Schema: by its format, its pattern and its length.

The keywords of a schema come in, a string comes out. Pure functions; `schema_instance` calls them.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_chatprompt.capture.apis.pattern_text import PatternTextGenerator
from pytest_chatprompt.capture.apis.schema_rules import Unsatisfiable, as_number

_LONGEST: Final = 1_000_000
_TRIES: Final = 300

# The formats of JSON Schema 2020-12 (https://json-schema.org/draft/2020-12/json-schema-validation#section-7), and those
# that pydantic writes. `n` counts the variants, `pad` is what makes the string longer.
_FORMATS: Final[Mapping[str, str]] = {
    "date-time": "2025-01-01T00:{minute:02}:{second:02}Z",
    "date": "2025-01-{day:02}",
    "time": "00:{minute:02}:{second:02}Z",
    "duration": "PT{n}S",
    "email": "{pad}a@example.com",
    "idn-email": "{pad}a@example.com",
    "hostname": "{pad}a.example.com",
    "idn-hostname": "{pad}a.example.com",
    "ipv4": "127.0.0.{byte}",
    "ipv6": "::{n:x}",
    "ipvanyaddress": "127.0.0.{byte}",
    "ipv4interface": "127.0.0.{byte}/32",
    "ipv4network": "127.0.0.{byte}/32",
    "ipvanyinterface": "127.0.0.{byte}/32",
    "ipvanynetwork": "127.0.0.{byte}/32",
    "ipv6interface": "::{n:x}/128",
    "ipv6network": "::{n:x}/128",
    "uri": "https://example.com/{pad}",
    "url": "https://example.com/{pad}",
    "uri-reference": "https://example.com/{pad}",
    "iri": "https://example.com/{pad}",
    "iri-reference": "https://example.com/{pad}",
    "uri-template": "https://example.com/{pad}",
    "multi-host-uri": "https://example.com/{pad}",
    "uuid": "00000000-0000-4000-8000-{n:012x}",
    "uuid1": "00000000-0000-1000-8000-{n:012x}",
    "uuid3": "00000000-0000-3000-8000-{n:012x}",
    "uuid4": "00000000-0000-4000-8000-{n:012x}",
    "uuid5": "00000000-0000-5000-8000-{n:012x}",
    "uuid6": "00000000-0000-6000-8000-{n:012x}",
    "uuid7": "00000000-0000-7000-8000-{n:012x}",
    "uuid8": "00000000-0000-8000-8000-{n:012x}",
    "json-pointer": "/{pad}",
    "relative-json-pointer": "{n}",
    "regex": "a{pad}",
    "json-string": "{n}",
    "path": "{pad}a",
    "file-path": "{pad}a",
    "directory-path": "{pad}a",
    "color": "#{n:06x}",
}


def least_string(rules: Mapping[str, Any], variant: int = 0) -> str:
    """Make the smallest valid string.

    Args:
        rules: the keywords, with `patterns` in place of `pattern`; a `default` or `examples` serve where no string that
            fits the patterns is found otherwise.
        variant: another number gives another string, if there is one.

    Raises:
        Unsatisfiable: the lengths exclude each other, or no string was found that fits the patterns.
    """
    least = int(as_number(rules.get("minLength")) or 0)
    most = as_number(rules.get("maxLength"))
    if least > _LONGEST or (most is not None and most < least):
        raise Unsatisfiable
    patterns = [pattern for pattern in rules.get("patterns", ()) if isinstance(pattern, str)]

    def fits(text: str) -> bool:
        is_short_enough = most is None or len(text) <= most
        return is_short_enough and len(text) >= least and all(find_match(pattern, text) for pattern in patterns)

    distinct: list[str] = []
    for text in _candidates(rules, patterns, least, variant):
        if fits(text) and text not in distinct:
            distinct.append(text)
            if len(distinct) > variant:
                break
    if not distinct:
        raise Unsatisfiable
    return distinct[variant % len(distinct)]


def _candidates(rules: Mapping[str, Any], patterns: Sequence[str], least: int, variant: int) -> Iterator[str]:
    template = _FORMATS.get(str(rules.get("format")))
    if template is not None:
        shortest = len(_filled(template, 0, ""))
        for number in range(variant + 1):
            yield _filled(template, number, "a" * (max(0, least - shortest) + number))
    given = [rules.get("default"), *(rules["examples"] if isinstance(rules.get("examples"), list) else ())]
    for pattern in patterns:
        yield from _matching(pattern, least)
    if patterns:
        yield "".join(PatternTextGenerator(pattern).least() for pattern in patterns)
        yield from (text for text in given if isinstance(text, str))
    else:
        yield from _words(least)


def _filled(template: str, number: int, pad: str) -> str:
    minute, second = divmod(number % 3600, 60)
    day, byte = 1 + number % 28, 1 + number % 254
    return template.format(n=number, pad=pad, minute=minute, second=second, day=day, byte=byte)


def _matching(pattern: str, least: int) -> Iterator[str]:
    """Strings that a pattern probably matches: the simplest, then longer and other ones."""
    text = PatternTextGenerator(pattern)
    yield text.least()
    for more in range(least, max(least - len(text.least()), 0) - 1, -1):
        yield text.longer(more)
    # No secret: what is chosen must be the same every time.
    choices = random.Random(0)  # noqa: S311
    for index in range(_TRIES):
        more = least if index % 2 else index // 8
        yield text.sample(choices, more)
    # Without `^` or `$` there may be more around it.
    more = max(least - len(text.least()), 0)
    yield text.least() + "a" * more
    yield "a" * more + text.least()


def _words(least: int) -> Iterator[str]:
    """All words of small letters, shorter ones first."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    yield "a" * least
    number = 0
    while True:
        number += 1
        rest, word = number, ""
        while rest:
            rest, digit = divmod(rest - 1, len(letters))
            word = letters[digit] + word
        yield word.rjust(least, "a")


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    # ECMAScript writes a named group without the `P`, and `$` there never stands before a line break at the end.
    for candidate in (re.sub(r"\(\?<(?![=!])", "(?P<", pattern), pattern):
        try:
            return re.compile(candidate)
        except (re.error, RecursionError, OverflowError, FutureWarning):
            # Where a project makes errors of warnings, `[[` is one.
            continue
    return None


def find_match(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text; a pattern that Python cannot read counts as found."""
    compiled = _compiled(pattern)
    return compiled is None or compiled.search(text) is not None
