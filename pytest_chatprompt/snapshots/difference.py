"""`Difference`: how what is sent now differs from a snapshot, by place.

It holds the `Change`s, each with what was removed and added apart from YAML, so that equal changes in other places are
equal, and the `Hunk`s, the lines that people read. Pure; `changes` makes it, `diff` writes it as text, `results` keeps
it, `reports` groups it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """One change: lines that were removed, added or moved, in one place.

    Args:
        place: the path in the data: `request.messages[0].content`.
        removed: the lines that were removed, as text without YAML; key and value where it is a setting.
        added: those that were added.
        moved: the lines of what only changed its place; then nothing was removed or added.
    """

    place: str
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()

    @property
    def content(self) -> tuple[tuple[str, ...], ...]:
        """What changed, wherever it stands: equal for changes that are shown as one."""
        return _without_blank_ends(self.removed), _without_blank_ends(self.added), self.moved


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a diff that stand together.

    Args:
        place: of its first change.
        lines: removed ones begin with `- `, added ones with `+ `, moved ones with `> `, others with two blanks.
        changes: the numbers of its changes in the `Difference`.
    """

    place: str
    lines: tuple[str, ...]
    changes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How two snapshots differ; both are empty if they hold the same.

    Args:
        changes: in the order of the file.
        hunks: what people read.
    """

    changes: tuple[Change, ...]
    hunks: tuple[Hunk, ...]


def _without_blank_ends(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Lines without the empty ones around them: which of these a diff shows is chance."""
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while start < end and not lines[end - 1].strip():
        end -= 1
    return lines[start:end] or lines
