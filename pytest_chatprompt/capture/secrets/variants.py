"""Variants: each way to read a text in which a secret may stand.

A text comes in, and comes out as it is, without its levels of escapes, and each of these in one line. Pure; only
`redaction` calls it, for the few texts that may hold a secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from pytest_chatprompt.capture.secrets.encodings import TracedText, decoded, without_line_breaks


class Variant(NamedTuple):
    """A text without some levels of escapes, and perhaps without line breaks.

    Args:
        text: the text, read in this way.
        levels: how many levels of escapes were decoded.
        is_joined: whether it is one line that was several.
    """

    text: str
    levels: int
    is_joined: bool

    def traced(self, original: str) -> TracedText:
        """The text of this variant, with the place of each character in the original.

        Args:
            original: the text that this is a variant of.
        """
        traced = TracedText.of(original)
        traced.decode(self.levels)
        if self.is_joined:
            traced.join_lines()
        return traced


def variants(text: str) -> Iterator[Variant]:
    """Each way to read a text; as it is comes first.

    Args:
        text: any text.
    """
    for levels, version in enumerate(chain((text,), decoded(text))):
        yield Variant(version, levels, is_joined=False)
        line = without_line_breaks(version)
        if line is not version:
            yield Variant(line, levels, is_joined=True)
