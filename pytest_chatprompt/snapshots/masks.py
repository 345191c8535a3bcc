"""Masks: what a snapshot shows in place of what differs from run to run, and of the bytes of media.

The mapping of the fixture `eval_masks` and JSON data come in; the data comes out with its string values masked. Keys
are never masked. Pure; `items` masks all data that is compared, hashed or searched for secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from pytest_chatprompt.errors import MaskError
from pytest_chatprompt.snapshots.media_elision import elide_media

Replacement = str | Callable[[re.Match[str]], str]

_EXAMPLE: Final = r'{r"\d{4}-\d\d-\d\d": "<date>"}'


class Masks(NamedTuple):
    """Regular expressions, each with what to show for what it matches; they are applied in order.

    Args:
        patterns: pairs of an expression and its replacement, as `re.sub` takes it.
    """

    patterns: tuple[tuple[re.Pattern[str], Replacement], ...] = ()

    @classmethod
    def from_mapping(cls, masks: object) -> Masks:
        """Read what the fixture `eval_masks` gives.

        Args:
            masks: a mapping of regular expressions, as texts or compiled, to texts or functions of the match.

        Raises:
            MaskError: it is something else, or an expression or a replacement is invalid.
        """
        if not isinstance(masks, Mapping):
            raise MaskError(
                f"eval_masks is {type(masks).__name__}; it must be a mapping of regular expressions to what to show "
                f"for them, such as {_EXAMPLE}"
            )
        if not masks:
            # Most projects have none, and each test keeps its masks to the end of the run.
            return NO_MASKS
        return cls(tuple((_compile(pattern), _check(pattern, shown)) for pattern, shown in masks.items()))

    @property
    def is_constant(self) -> bool:
        """Whether the same data is masked in the same way each time: a function may give something else."""
        return all(isinstance(shown, str) for _, shown in self.patterns)

    def apply(self, data: Any) -> Any:
        """Describe media and mask every string value of JSON data; gives the same object if there is neither.

        Raises:
            MaskError: a replacement is invalid for what its expression matched.
        """
        data = elide_media(data)
        return self._masked(data) if self.patterns else data

    def _masked(self, data: Any) -> Any:
        match data:
            case str():
                for pattern, shown in self.patterns:
                    data = _substitute(pattern, shown, data)
                return data
            case Mapping():
                return {key: self._masked(value) for key, value in data.items()}
            case list() | tuple():
                return [self._masked(value) for value in data]
        return data


NO_MASKS: Final = Masks()


def _compile(pattern: object) -> re.Pattern[str]:
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        return pattern
    if not isinstance(pattern, str):
        raise MaskError(f"eval_masks: {pattern!r} is {type(pattern).__name__}; a key must be a regular expression")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise MaskError(f"eval_masks: {pattern!r} is not a valid regular expression ({error})") from None


def _check(pattern: object, shown: object) -> Replacement:
    if not isinstance(shown, str) and not callable(shown):
        raise MaskError(
            f"eval_masks: the value for {_source(pattern)!r} is {type(shown).__name__}; "
            "it must be a text, or a function of the match, as re.sub takes it"
        )
    return shown


def _substitute(pattern: re.Pattern[str], shown: Replacement, text: str) -> str:
    try:
        return pattern.sub(shown, text)
    except (re.error, IndexError, TypeError) as error:
        # A text that refers to a group that there is not, or a function that returned something other than a text.
        raise MaskError(f"eval_masks: the value for {pattern.pattern!r} does not fit its match: {error}") from error


def _source(pattern: object) -> object:
    return pattern.pattern if isinstance(pattern, re.Pattern) else pattern
