"""The texts of the page: all lines of payloads, answers and errors, each line once.

The texts of each case come in; parts come out, each with lines and with what cases made of them. Prompts of one project
share most of their lines, so the page searches few characters, however many cases there are. `page_data` calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

# Of lines: so much is unpacked in a few hundredths of a second.
_PART_CHARACTERS: Final = 400_000


@dataclass(slots=True)
class PageTexts:
    """Collects the texts of the cases of a page, in the order of its index.

    Attributes:
        parts: JSON data, each with `lines`, which go on from those of the part before, and with `cases`, likewise. A
            case has for each of its texts the ranges of its lines, from the first line of the first part: a start and
            a length for each range.
    """

    parts: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _characters: int = 0

    def add(self, texts: Mapping[str, str]) -> None:
        """Add the texts of a case.

        Args:
            texts: by their names; each is lines that end in LF, but for the last.
        """
        if not self.parts or self._characters > _PART_CHARACTERS:
            self.parts.append({"lines": [], "cases": []})
            self._characters = 0
        ranges = {name: self._ranges(text.split("\n")) for name, text in texts.items()}
        self.parts[-1]["cases"].append(ranges)

    def _ranges(self, lines: Iterable[str]) -> list[int]:
        ranges: list[int] = []
        following = -1
        for line in lines:
            number = self._number(line)
            if number == following:
                ranges[-1] += 1
            else:
                ranges += (number, 1)
            following = number + 1
        # A few characters more for each range, which is all that a case has if its lines are known.
        self._characters += 5 * len(ranges)
        return ranges

    def _number(self, line: str) -> int:
        number = self._numbers.get(line)
        if number is None:
            number = self._numbers[line] = len(self._numbers)
            self.parts[-1]["lines"].append(line)
            self._characters += len(line)
        return number
