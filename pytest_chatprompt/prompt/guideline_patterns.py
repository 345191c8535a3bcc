"""Guideline patterns: the globs that decide which files are guidelines (rule B1).

In: the paths of a file and the patterns of a case. Out: the pattern that matches. Pure functions over strings, matched
with wcmatch; `attachment_reading` asks about each file that a case names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Final

from pytest_chatprompt.errors import InvalidPatternError

# A group that repeats, such as `+(a|b)`, and what is in it, up to the first group within it.
_REPEATED_GROUP: Final = re.compile(r"[*+]\(([^()]*\(?)")
_MAX_REPEATED_GROUPS: Final = 3
# Within a group: what matches texts of several lengths, and any wildcard.
_NO_FIXED_LENGTH: Final = re.compile(r"[*({]")
_WILDCARD: Final = re.compile(r"[*?(\[{\\]")


def matching_pattern(paths: Iterable[str], patterns: Sequence[str]) -> str | None:
    """Find the pattern that makes a file a guideline.

    Args:
        paths: the paths of one file, with `/`: relative to the root folder, and as the author wrote it.
        patterns: wcmatch globs; one that begins with `!` excludes what it matches, wherever it is in the list.
            A leading `./` says nothing.

    Returns:
        The first pattern that matches one of the paths, or `None` if the file is not a guideline: no pattern matches,
        or an exclusion does.

    Raises:
        InvalidPatternError: the braces of a pattern expand to too many patterns, or matching it could take minutes.
    """
    names = tuple(paths)
    including = [pattern for pattern in patterns if not _is_exclusion(pattern)]
    excluding = [pattern[1:] for pattern in patterns if _is_exclusion(pattern)]
    if any(_matches(name, pattern) for pattern in excluding for name in names):
        return None
    return next((pattern for pattern in including if any(_matches(name, pattern) for name in names)), None)


def _is_exclusion(pattern: str) -> bool:
    # `!(...)` is an extended glob.
    return pattern.startswith("!") and not pattern.startswith("!(")


@lru_cache(maxsize=4096)
def _matches(name: str, pattern: str) -> bool:
    _refuse_slow_groups(pattern)
    # A run without guidelines does not need it.
    from wcmatch import glob  # noqa: PLC0415

    # FORCEUNIX: the same result on every platform. DOTMATCH: guidelines often are in `.github/instructions/`.
    flags = glob.GLOBSTAR | glob.BRACE | glob.EXTGLOB | glob.DOTGLOB | glob.FORCEUNIX
    try:
        return glob.globmatch(name, [pattern, pattern.removeprefix("./")], flags=flags)
    except Exception as error:
        # wcmatch has no public name for the exception that it raises if braces expand to too many patterns.
        raise InvalidPatternError(f"invalid guideline pattern {pattern!r}: {error}") from error


def _refuse_slow_groups(pattern: str) -> None:
    """Refuse groups that repeat and that can match one text in many ways: each more character could double the time."""
    groups = _REPEATED_GROUP.findall(pattern)
    if len(groups) > _MAX_REPEATED_GROUPS or any(_is_ambiguous(group) for group in groups):
        raise InvalidPatternError(
            f"invalid guideline pattern {pattern!r}: matching it could take minutes; "
            f"write at most {_MAX_REPEATED_GROUPS} groups +(...) or *(...), in each one alternative without *, "
            "or several without any wildcard, none of which begins with another"
        )


def _is_ambiguous(group: str) -> bool:
    alternatives = group.split("|")
    if len(alternatives) == 1:
        return _NO_FIXED_LENGTH.search(group) is not None
    overlap = any(longer.startswith(shorter) for shorter, longer in permutations(alternatives, 2))
    return overlap or _WILDCARD.search(group) is not None
