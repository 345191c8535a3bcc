r"""`PatternTextGenerator`: texts that a regular expression matches.

A pattern as JSON Schema has them (ECMAScript's, and Python's where they differ little) comes in. Its simplest text
comes out, or another one. Lookarounds such as `(?=...)` and `\b` are ignored, so a text may not match: `schema_strings`
calls it, and tries each text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

_CLASSES: Final = {"d": "0123456789", "w": "a0_Z", "s": " \t", "D": "a-", "W": "- ", "S": "a0"}
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
# What `.` and `[^...]` choose from.
_ANY: Final = (
    "a0A bcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ123456789-_.,:;/@#!?+*=()[]{}<>|&%$'\"\\~^`\u00e9\n"
)
_QUANTIFIER: Final = re.compile(r"([*+?]|\{(\d+)(,(\d*))?\})[?+]?")
_HEX: Final = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}")
_GROUP: Final = re.compile(r"\?(?::|P?<([A-Za-z_]\w*)>|[aiLmsux-]+:)")
_LOOK: Final = re.compile(r"\?(?:=|!|<=|<!|#)")
_MOST_REPEATS: Final = 10_000


class PatternTextGenerator:
    """Makes texts that a pattern matches; lookarounds and word boundaries are ignored.

    Args:
        pattern: a regular expression; what cannot be read of it is taken literally.
    """

    def __init__(self, pattern: str) -> None:
        self._node = _Parser(pattern).alternatives()

    def least(self) -> str:
        """Make the simplest text: first alternatives, fewest repeats, the first character of each set."""
        return _write(self._node, lambda choices: choices[0], lambda least, _: least)

    def longer(self, more: int) -> str:
        """Make the simplest text with more repeats.

        Args:
            more: how often each part that may be repeated is repeated more than it must be.
        """
        return _write(self._node, lambda choices: choices[0], lambda least, most: min(most, least + more), 4 * more)

    def sample(self, choices: random.Random, more: int) -> str:
        """Make another matching text.

        Args:
            choices: what chooses alternatives and characters.
            more: how often a part that may be repeated is repeated more than it must be, at most.
        """

        def repeat(least: int, most: int) -> int:
            return choices.randint(least, max(least, min(most, least + more)))

        return _write(self._node, choices.choice, repeat, 4 * more)


@dataclass
class _Node:
    """One part of a pattern: a text of a set, a group of alternatives, or a reference to a group.

    Args:
        choices: the characters of a set, or alternatives, each a list of nodes.
        least: the fewest repeats of it.
        most: the most repeats.
        group: the number of a capturing group; 0 for none.
        refers_to: the number of the group whose text it repeats; 0 for none.
    """

    choices: Sequence[str | list[_Node]] = field(default_factory=list)
    least: int = 1
    most: int = 1
    group: int = 0
    refers_to: int = 0


def _write(
    node: _Node,
    choose: Callable[[Sequence[str | list[_Node]]], str | list[_Node]],
    repeat: Callable[[int, int], int],
    enough: int = 0,
    groups: dict[int, str] | None = None,
) -> str:
    """Write the text of a node.

    Args:
        node: the node.
        choose: chooses one of its characters or alternatives.
        repeat: chooses how often it stands, between two numbers.
        enough: the length beyond which it is repeated no more than it must be: repeats within repeats would explode.
        groups: the texts of the groups so far.
    """
    groups = {} if groups is None else groups
    written: list[str] = []
    length = 0
    for index in range(repeat(node.least, node.most)):
        if index >= node.least and length > enough:
            break
        if node.refers_to:
            written.append(groups.get(node.refers_to, ""))
        elif node.choices:
            chosen = choose(node.choices)
            text = (
                chosen
                if isinstance(chosen, str)
                else "".join(_write(part, choose, repeat, enough, groups) for part in chosen)
            )
            written.append(text)
            length += len(text)
            if node.group:
                groups[node.group] = text
    return "".join(written)


class _Parser:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._groups = 0
        self._names: dict[str, int] = {}

    def alternatives(self, group: int = 0) -> _Node:
        """Alternatives up to the end of the pattern or of the group."""
        alternatives: list[list[_Node]] = [[]]
        while self._at < len(self._text):
            if self._text[self._at] == ")" and self._depth:
                break
            if self._take("|"):
                alternatives.append([])
                continue
            node = self._atom()
            if node is not None:
                node.least, node.most = self._quantifier()
                alternatives[-1].append(node)
        return _Node(alternatives, group=group)

    _depth = 0

    def _take(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        if found:
            self._at += len(text)
        return found

    def _atom(self) -> _Node | None:
        character = self._text[self._at]
        self._at += 1
        if character in "^$":
            return None
        if character == "(":
            return self._group()
        if character == "[":
            return self._set()
        if character == "\\":
            return self._escape()
        return _Node(_ANY if character == "." else character)

    def _group(self) -> _Node | None:
        looks = _LOOK.match(self._text, self._at)
        named = _GROUP.match(self._text, self._at)
        number = 0
        if looks is not None:
            self._at = looks.end()
        elif named is not None:
            self._at = named.end()
        if looks is None and (named is None or named[1]):
            self._groups += 1
            number = self._groups
            if named is not None:
                self._names[named[1]] = number
        self._depth += 1
        node = self.alternatives(number)
        self._depth -= 1
        self._take(")")
        if looks is not None:
            self._quantifier()
            return None
        return node

    def _escape(self) -> _Node | None:
        rest = self._text[self._at :]
        name = re.match(r"k<(\w+)>", rest)
        number = re.match(r"[1-9]\d?", rest)
        if name is not None or number is not None:
            self._at += len((name or number)[0])  # type: ignore[index]
            return _Node(refers_to=self._names.get(name[1], 0) if name is not None else int(rest[: number.end()]))  # type: ignore[union-attr]
        if rest[:1] in ("b", "B", "A", "Z", "z"):
            self._at += 1
            return None
        return _Node(self._escaped())

    def _escaped(self) -> str:
        """The characters of which an escape stands for one."""
        rest = self._text[self._at :]
        if (code := _HEX.match(rest)) is not None:
            self._at += code.end()
            return chr(min(int(code[1] or code[2] or code[3], 16), 0x10FFFF))
        if (category := re.match(r"[pP]\{\^?\w+(=\w+)?\}", rest)) is not None:
            self._at += category.end()
            return _of_category(category[0])
        self._at += 1
        return _CLASSES.get(rest[:1]) or _ESCAPES.get(rest[:1]) or rest[:1] or "\\"

    def _set(self) -> _Node:
        is_negated = self._take("^")
        characters: list[str] = []
        excluded: list[str] = []
        is_first = True
        while self._at < len(self._text) and (is_first or self._text[self._at] != "]"):
            is_first = False
            escape = self._text[self._at + 1 : self._at + 2] if self._text[self._at] == "\\" else ""
            low = self._member()
            if (
                len(low) == 1
                and self._text.startswith("-", self._at)
                and self._text[self._at + 1 : self._at + 2] not in ("]", "")
            ):
                self._at += 1
                high = self._member()
                low = "".join(map(chr, _few(ord(low), ord(high[0]))))
                excluded.append(f"[{re.escape(low[0])}-{re.escape(high[0])}]" if low else "")
            else:
                excluded.append(f"\\{escape}" if escape and escape in _CLASSES else f"[{re.escape(low)}]")
            characters.append(low)
        self._take("]")
        if not is_negated:
            return _Node("".join(characters))
        is_excluded = re.compile("|".join(filter(None, excluded)) or r"(?!)")
        return _Node([character for character in _ANY if not is_excluded.match(character)])

    def _member(self) -> str:
        character = self._text[self._at]
        self._at += 1
        return character if character != "\\" else "\b" if self._take("b") else self._escaped()

    def _quantifier(self) -> tuple[int, int]:
        found = _QUANTIFIER.match(self._text, self._at)
        if found is None:
            return 1, 1
        self._at = found.end()
        if found[2] is None:
            return {"*": (0, _MOST_REPEATS), "+": (1, _MOST_REPEATS), "?": (0, 1)}[found[1]]
        least = min(int(found[2]), _MOST_REPEATS)
        most = least if found[3] is None else int(found[4]) if found[4] else _MOST_REPEATS
        return least, most


def _few(low: int, high: int) -> Sequence[int]:
    """The characters of a range; of a long one the first ones and the last."""
    return range(low, high + 1) if high - low < len(_ANY) else [*range(low, low + len(_ANY)), high]


def _of_category(escape: str) -> str:
    r"""Characters of a category of Unicode, such as `\p{Lu}`."""
    is_negated = escape[0] == "P" or "^" in escape
    name = escape[2:-1].lstrip("^").rpartition("=")[2]
    by_letter = {"L": "a", "N": "0", "P": "-", "S": "+", "Z": " "}
    found = {"Lu": "A", "Lt": "\u01c5", "Lo": "\u00aa", "Latin": "a", "Letter": "a"}.get(name) or by_letter.get(
        name[:1], "a"
    )
    return "-" if is_negated and found != "-" else "a" if is_negated else found
