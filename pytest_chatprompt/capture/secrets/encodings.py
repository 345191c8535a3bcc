"""Encodings: the forms in which a text, or a secret in it, may be written.

Two ways out of them. A secret comes in, and the forms that hide every character of it come out: base64, hexadecimal. A
text comes in, and comes out without escapes and line breaks; what was cut out of it there is cut out of the text as it
was written. Pure functions; `redaction`, `secret_forms` and `variants` call them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from pytest_chatprompt.capture.secrets.names import SecretKind
from pytest_chatprompt.capture.secrets.values import MIN_SECRET_LENGTH, looks_secret

# Escapes within escapes: JSON in a string of JSON in a form.
_MOST_ROUNDS: Final = 3
# With more parts than one in so many characters, choosing the lines with escapes takes longer than it saves.
_LENGTH_FOR_PART: Final = 1_000
# What may stand around a line break within a value: indentation, the quotes and the backslash of source code.
LINE_EDGES: Final = " \t\r\v\f\"'\\"
_GAP: Final = re.compile(rf"[{re.escape(LINE_EDGES)}]+")
# Passphrases have fewer words; what has more is a document, such as a key in JSON.
_MOST_GAPS: Final = 12

# The escapes of JSON and Python that may stand in a secret or a line break.
_SHORT_ESCAPES: Final = {
    r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\"": '"', r"\'": "'", r"\/": "/", r"\\": "\\",
}  # fmt: skip
_ESCAPE: Final = re.compile(r"(\\(?:[\\nrt\"'/]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|U00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4}))")
# The bytes of one character together, so that they are decoded together.
_PERCENT_ESCAPE: Final = re.compile(r"(%(?:[0-7][0-9A-Fa-f]|[89A-Fa-f][0-9A-Fa-f](?:%[89A-Fa-f][0-9A-Fa-f])*))")


def _unescaped(escape: str) -> str:
    short = _SHORT_ESCAPES.get(escape)
    return chr(int(escape[2:], 16)) if short is None else short


def _percent_decoded(escape: str) -> str:
    return bytes.fromhex(escape.replace("%", "")).decode(errors="replace")


def _decoded_once(text: str, escape: re.Pattern[str], decode: Callable[[str], str]) -> str:
    """A text without the escapes of one kind; the same object if there are none."""
    parts = escape.split(text)
    if len(parts) == 1:
        return text
    # A text has many escapes but few different ones, and each is decoded once: `re.sub` takes twice as long.
    escapes = parts[1::2]
    characters = {each: decode(each) for each in set(escapes)}
    parts[1::2] = map(characters.__getitem__, escapes)
    return "".join(parts)


# What every escape begins with, its pattern, and how it is decoded.
_ESCAPES: Final = (("\\", _ESCAPE, _unescaped), ("%", _PERCENT_ESCAPE, _percent_decoded))


def encoded_forms(secret: str) -> tuple[str, ...]:
    """The forms in which a secret may stand in a text without escapes.

    Args:
        secret: any text; white space and line breaks at the edges of its lines do not count.
    """
    plain = without_line_breaks(secret).strip(LINE_EDGES)
    data = _bytes(secret.strip())
    # The third is how Python shows bytes, without its escapes: `b'p\\xc3\\xa4ss'`.
    forms = [plain, plain.replace(" ", "+"), _bytes(plain).decode("latin-1"), data.hex(), data.hex().upper()]
    for offset in range(3):
        # Base64 writes three bytes as four characters, so that a part of a text is written in three ways. The first and
        # the last character may belong to what surrounds it, too.
        text = base64.b64encode(bytes(offset) + data).decode("ascii")
        certain = text[(0, 2, 3)[offset] : (offset + len(data)) * 8 // 6]
        forms += [certain, certain.replace("+", "-").replace("/", "_")]
    return (*(form for form in dict.fromkeys(forms) if len(form) >= MIN_SECRET_LENGTH), *_broken_forms(plain))


def _bytes(text: str) -> bytes:
    """The bytes of a text; a variable that is not valid UTF-8 keeps its own, and half a surrogate pair is encoded."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")


def _broken_forms(plain: str) -> Iterator[str]:
    """What `without_line_breaks` leaves of a secret that was broken at a blank or a quote: once, or everywhere."""
    gaps = list(_GAP.finditer(plain))
    if 0 < len(gaps) <= _MOST_GAPS:
        for form in (*(plain[: gap.start()] + plain[gap.end() :] for gap in gaps), _GAP.sub("", plain)):
            if looks_secret(form, SecretKind.PHRASE):
                yield form


def without_line_breaks(text: str) -> str:
    """Join a text that was broken into lines; indentation and quotes around the breaks are left out too."""
    if "\n" not in text:
        return text
    return "".join([line.strip(LINE_EDGES) for line in text.split("\n")])


def decoded(text: str, *, shorten: bool = False) -> Iterator[str]:
    """Decode the escapes of JSON, Python and URLs; gives a text for each level of escapes, none without escapes.

    Args:
        text: any text.
        shorten: whether to give only the lines that may have changed, as `lines_with_escapes` does.
    """
    for _ in range(_MOST_ROUNDS):
        is_changed = False
        for mark, escape, decode in _ESCAPES:
            if mark in text:
                if shorten:
                    whole, text = text, lines_with_escapes(text)
                    # Once is enough; where the text is one line, its next level may have more of them.
                    shorten = text is whole
                escaped, text = text, _decoded_once(text, escape, decode)
                if text is not escaped:
                    is_changed = True
                    yield text
        if not is_changed:
            return


def lines_with_escapes(text: str) -> str:
    """The lines of a text with escapes in them and those beside them: few, where the text is a document or source code.

    Args:
        text: any text; where it has very many escapes, as JSON has, all of it comes out.
    """
    parts: list[str] = []
    most_parts = 10 + len(text) // _LENGTH_FOR_PART
    for mark in ("\\", "%"):
        position = text.find(mark)
        while position >= 0:
            start = text.rfind("\n", 0, max(text.rfind("\n", 0, position), 0)) + 1
            end = _line_end(text, _line_end(text, position) + 1)
            if end - start == len(text) or len(parts) > most_parts:
                return text
            parts.append(text[start:end])
            position = text.find(mark, end)
    return "\n".join(parts)


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return end if end >= 0 else len(text)


@dataclass(eq=False, slots=True)
class TracedText:
    """A text that is decoded step by step, with the place in the original of each of its characters.

    It takes far longer than `decoded`, and only a text that holds a secret needs it.

    Args:
        text: the text as it is now.
        starts: where in the original each character begins.
        ends: where it ends there.
    """

    text: str
    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, text: str) -> TracedText:
        """A text that is its own original."""
        return cls(text, list(range(len(text))), list(range(1, len(text) + 1)))

    def decode(self, levels: int) -> None:
        """Undo some levels of escapes, as `decoded` does.

        Args:
            levels: no more than the text has.
        """
        while levels:
            for _, escape, decode in _ESCAPES:
                before = self.text
                self._replace(escape, decode)
                levels -= self.text != before
                if not levels:
                    break

    def join_lines(self) -> None:
        """Leave out the line breaks, as `without_line_breaks` does with a text of several lines."""
        kept, position = [], 0
        for line in self.text.split("\n"):
            start = position + len(line) - len(line.lstrip(LINE_EDGES))
            kept.append(slice(start, max(start, position + len(line.rstrip(LINE_EDGES)))))
            position += len(line) + 1
        self.text = "".join([self.text[part] for part in kept])
        self.starts = [start for part in kept for start in self.starts[part]]
        self.ends = [end for part in kept for end in self.ends[part]]

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the text stands in the original.

        Args:
            start: where the part begins.
            end: where it ends; the part is not empty.
        """
        return self.starts[start], self.ends[end - 1]

    def _replace(self, escape: re.Pattern[str], decode: Callable[[str], str]) -> None:
        text: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        position = 0
        for match in escape.finditer(self.text):
            start, end = match.span()
            new = decode(match[0])
            text += (self.text[position:start], new)
            starts += (*self.starts[position:start], *[self.starts[start]] * len(new))
            ends += (*self.ends[position:start], *[self.ends[end - 1]] * len(new))
            position = end
        self.text = "".join((*text, self.text[position:]))
        self.starts = starts + self.starts[position:]
        self.ends = ends + self.ends[position:]
