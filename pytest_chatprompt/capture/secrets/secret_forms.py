"""Secret forms: every form of every secret of a run, and a fast check for texts without any.

Forms and what they stand for come in, from `encodings`. A text comes in, too, and `False` comes out if no form is in
it. Nearly all texts of a run hold no secret, so this check takes most of the time of redaction. Pure; only `redaction`
calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import inf
from types import MappingProxyType
from typing import Final

from pytest_chatprompt.capture.secrets.encodings import LINE_EDGES

# What `without_line_breaks` leaves out at the edges of lines is left out everywhere.
_LEFT_OUT: Final = f"\n{LINE_EDGES}".encode("ascii")
_BLOCK: Final = 8


class SecretForms:
    """The forms of the secrets of a run. It never changes, so threads may share it.

    Args:
        names: what each form stands for: `the value of the environment variable OPENAI_API_KEY`.
    """

    def __init__(self, names: Mapping[str, str] = MappingProxyType({})) -> None:
        self.names: Final = dict(names)

    def with_forms(self, forms: Iterable[str], what: str) -> SecretForms:
        """Return a copy with more forms; a form that is known already keeps its name.

        Args:
            forms: of one secret.
            what: what they stand for.
        """
        return SecretForms({**dict.fromkeys(forms, what), **self.names})

    def may_be_in(self, text: str) -> bool:
        """Return `False` if a text, with or without its line breaks, has no form; `True` means: search it in full.

        Args:
            text: any text.
        """
        # Both are compared without blanks, quotes and backslashes, so that one search does for a text as it is and for
        # one without line breaks. Other than ASCII becomes `?` in both.
        condensed = _condensed(text)
        return any(map(condensed.__contains__, self._single)) or (
            self._blocks is not None and self._blocks.may_be_in(condensed)
        )

    @cached_property
    def _condensed_forms(self) -> list[bytes]:
        """The forms as they stand in a condensed text, from short to long."""
        return sorted(set(map(_condensed, self.names)), key=len)

    @cached_property
    def _cut(self) -> int:
        """How many forms to search for one by one, so that the whole search is fastest.

        A search for one form takes less time the longer it is. Blocks take the time of the shortest form among them.
        """
        forms = self._condensed_forms
        # In nanoseconds for a kilobyte, as measured.
        one_by_one = [0.0, *accumulate(50 + 3300 / max(len(form), 1) for form in forms)]
        by_blocks = [400 + 6500 / _step(form) if _step(form) else inf for form in forms]
        times = [single + blocks for single, blocks in zip(one_by_one, [*by_blocks, 0], strict=True)]
        return times.index(min(times))

    @cached_property
    def _single(self) -> tuple[bytes, ...]:
        return tuple(self._condensed_forms[: self._cut])

    @cached_property
    def _blocks(self) -> _Blocks | None:
        forms = self._condensed_forms[self._cut :]
        return _Blocks(forms) if forms else None


def _step(form: bytes) -> int:
    """How many blocks apart to look, without missing a form of this length; 0 for a form that is too short."""
    return max((len(form) + 1) // _BLOCK - 1, 0)


class _Blocks:
    """Searches for many forms at once, in a time that does not depend on how many they are.

    An occurrence of a form holds a whole block of eight bytes whose place is a multiple of eight. A longer one holds a
    block whose place is a multiple of sixteen, or more. So it is enough to look up those blocks.

    Args:
        forms: each of at least 15 bytes, the shortest first.
    """

    def __init__(self, forms: Sequence[bytes]) -> None:
        self._forms = forms
        self._step = _step(forms[0])
        self._values = {
            int.from_bytes(form[start : start + _BLOCK], sys.byteorder)
            for form in self._forms
            for start in range(len(form) - _BLOCK + 1)
        }

    def may_be_in(self, data: bytes) -> bool:
        """Whether one of the forms is in the data."""
        blocks = memoryview(data)[: len(data) // _BLOCK * _BLOCK].cast("Q")
        return not self._values.isdisjoint(blocks[:: self._step]) and any(map(data.__contains__, self._forms))


def _condensed(text: str) -> bytes:
    data = text.encode("ascii", "replace")
    # Base64 has nothing to leave out; looking for it is faster than copying.
    return data.translate(None, _LEFT_OUT) if any(map(data.__contains__, _LEFT_OUT)) else data
