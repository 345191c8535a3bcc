"""The loaders that turn a YAML text into events: libyaml where it is installed, and PyYAML's own, corrected.

In: a text. Out: a PyYAML loader, from which `yaml_parser` reads events. Only `yaml_parser` calls this module.

libyaml and PyYAML read YAML 1.1 and have gaps. libyaml is 25 times faster, so it reads a text first. `PythonLoader`
reads what libyaml refuses although YAML 1.2 allows it, and everything on a machine without libyaml.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml
from yaml.scanner import ScannerError

FastLoader: Any = getattr(yaml, "CSafeLoader", None)

# What libyaml says about texts that YAML 1.2 allows: a tab at the start of a block text, a character as two surrogates.
_TOO_STRICT: Final = (
    "found a tab character where an indentation space is expected",
    "found invalid Unicode character escape code",
)
# YAML 1.1 takes these for line breaks, YAML 1.2 for ordinary characters.
_FORMER_LINE_BREAKS: Final = "\x85\u2028\u2029"
_ESCAPED_CHARACTER: Final = re.compile(r"\\(?:u|U0000)([0-9A-Fa-f]{4})")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# An escape of a double-quoted text; the group is the escape of a surrogate without its other half.
_ESCAPE: Final = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)


def is_too_strict(error: yaml.MarkedYAMLError) -> bool:
    """Whether libyaml may have refused a text that YAML 1.2 allows."""
    return error.problem in _TOO_STRICT


def hide_former_line_breaks(text: str) -> tuple[str, dict[int, str]]:
    """Replace the characters that only YAML 1.1 takes for line breaks by others that the text does not have.

    Args:
        text: any text.

    Returns:
        A text of the same length, and the table for `str.translate` that brings the characters back; an empty table if
        there are none.
    """
    present = [character for character in _FORMER_LINE_BREAKS if character in text]
    if not present:
        return text, {}
    escaped = {int(code, 16) for code in _ESCAPED_CHARACTER.findall(text)}
    unused = (code for code in range(0xE000, 0xF900) if chr(code) not in text and code not in escaped)
    stand_ins = dict(zip(present, unused, strict=False))
    hidden = text.translate({ord(character): code for character, code in stand_ins.items()})
    return hidden, {code: character for character, code in stand_ins.items()}


class PythonLoader(yaml.SafeLoader):
    """PyYAML's own loader, corrected where libyaml or YAML 1.2 read a text in another way."""

    def scan_to_next_token(self) -> None:
        """Skip blanks, comments and line breaks; tabs too, where they do not indent."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def scan_plain(self) -> Any:
        """Read a text without quotes; a `?` within it is text in flow mappings and lists too."""
        start_mark = self.get_mark()
        indent = self.indent + 1
        chunks: list[str] = []
        blanks: list[str] = []
        while self.peek() != "#" and (length := self._plain_length()):
            self.allow_simple_key = False
            chunks += [*blanks, self.prefix(length)]
            self.forward(length)
            blanks = self._blanks_in_plain(indent)
            if not blanks or (not self.flow_level and self.column < indent):
                break
        # Nobody reads where a text without quotes ends.
        return yaml.ScalarToken("".join(chunks), True, start_mark, start_mark)

    def _plain_length(self) -> int:
        ends, after_colon = ("\0 \t\r\n,[]{}", "\0 \t\r\n,[]{}") if self.flow_level else ("\0 \t\r\n", "\0 \t\r\n")
        length = 0
        while (character := self.peek(length)) not in ends:
            if character == ":" and self.peek(length + 1) in after_colon:
                break
            length += 1
        return length

    def _blanks_in_plain(self, indent: int) -> list[str]:
        """Read the blanks or line breaks within a text without quotes; blanks may be tabs."""
        length = 0
        while self.peek(length) in " \t":
            length += 1
        blanks = self.prefix(length)
        self.forward(length)
        if self.peek() not in "\r\n":
            return [blanks]
        breaks = 0
        while self.peek() in " \t\r\n":
            if self.peek() == "\t" and self.column < indent:
                # The tab at this place says what is wrong.
                raise ScannerError(problem_mark=self.get_mark())
            if self.peek() in " \t":
                self.forward()
                continue
            self.scan_line_break()  # type: ignore[no-untyped-call]
            self.allow_simple_key = True
            breaks += 1
            if self.prefix(3) in ("---", "...") and self.peek(3) in "\0 \t\r\n":
                return []
        return ["\n"] * (breaks - 1) or [" "]

    def scan_flow_scalar(self, style: str) -> Any:
        """Read a text in quotes; two surrogates are one character, as JSON writes it."""
        start_mark = self.get_mark()
        try:
            token = super().scan_flow_scalar(style)
        except (ValueError, OverflowError):
            raise ScannerError(problem=_TOO_STRICT[1], problem_mark=self.get_mark()) from None
        if _SURROGATE.search(token.value):
            token.value = token.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            lone = next(
                (match for match in _ESCAPE.finditer(str(start_mark.buffer), start_mark.pointer) if match[1]), None
            )
            if lone is not None and lone.start() < token.end_mark.pointer:
                raise ScannerError(problem=_TOO_STRICT[1], problem_mark=_mark_after(start_mark, lone.start()))
        return token


def _mark_after(start: Any, pointer: int) -> Any:
    """A mark at a place of a text behind another mark."""
    between = start.buffer[start.pointer : pointer]
    line_breaks = between.count("\n")
    column = len(between) - between.rfind("\n") - 1 if line_breaks else start.column + len(between)
    return yaml.Mark(start.name, pointer, start.line + line_breaks, column, None, pointer)
