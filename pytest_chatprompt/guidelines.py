"""Which files are guidelines: the glob patterns of an eval file, matched with wcmatch.

Pure functions over strings. `attachments` asks for each file that a case names; `chat_prompt` and
`requests` make the block that goes into the system message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from wcmatch import glob

from pytest_chatprompt.errors import ChatPromptError

# FORCEUNIX: the same answer on every platform. DOTMATCH: guidelines often live in `.github/instructions/`.
_FLAGS: Final = glob.GLOBSTAR | glob.BRACE | glob.EXTGLOB | glob.DOTGLOB | glob.FORCEUNIX

GUIDELINE_HEADING: Final = "[[ ## Guidelines ## ]]"


class UnusablePatternError(ChatPromptError):
    """A guideline pattern cannot be matched."""


def matching_pattern(paths: Iterable[str], patterns: Sequence[str]) -> str | None:
    """The first pattern that makes a file a guideline.

    Args:
        paths: the names by which the file goes, with `/`: relative to the root folder, and as written.
        patterns: wcmatch globs; one that begins with `!` excludes what it matches, wherever it stands.

    Returns:
        The pattern, or `None` if the file is no guideline: none matches, or an exclusion does.

    Raises:
        UnusablePatternError: braces in a pattern stand for more patterns than can be meant.
    """
    names = tuple(paths)
    including = [pattern for pattern in patterns if not _excludes(pattern)]
    excluding = [pattern[1:] for pattern in patterns if _excludes(pattern)]
    if any(_matches(name, pattern) for pattern in excluding for name in names):
        return None
    return next((pattern for pattern in including if any(_matches(name, pattern) for name in names)), None)


@lru_cache(maxsize=8)
def guideline_block(guidelines: tuple[tuple[str, str], ...]) -> str:
    """The block of a system message that holds the guidelines (rulings B3 and B4).

    Args:
        guidelines: pairs of the path as written and the content.

    Returns:
        The heading and the contents; `""` for no guidelines.
    """
    if not guidelines:
        return ""
    if len(guidelines) == 1:
        return f"{GUIDELINE_HEADING}\n\n{guidelines[0][1]}"
    contents = "\n\n".join(f"=== {path} ===\n{content}" for path, content in guidelines)
    return f"{GUIDELINE_HEADING}\n\n{contents}"


def _excludes(pattern: str) -> bool:
    """Whether a pattern is an exclusion; `!(...)` is an extended glob, not one."""
    return pattern.startswith("!") and not pattern.startswith("!(")


@lru_cache(maxsize=4096)
def _matches(name: str, pattern: str) -> bool:
    try:
        return glob.globmatch(name, pattern, flags=_FLAGS)
    except Exception as error:
        # wcmatch has no public name for what it raises where braces stand for too many patterns.
        raise UnusablePatternError(f"the guideline pattern {pattern!r} cannot be matched: {error}") from error
