"""The guideline block: the part of the system message that holds the guidelines (rules B3 and B4).

In: the guidelines of a case. Out: the text of the block. `conversion` calls it, and providers for legacy requests.
Which files are guidelines is decided in `guideline_patterns`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from pytest_chatprompt.prompt.attachment_reading import Attachment
from pytest_chatprompt.prompt.part_rendering import file_section, is_blank

GUIDELINE_HEADING: Final = "[[ ## Guidelines ## ]]"


# The cases of a file usually share their guidelines, so most blocks are the same.
@lru_cache(maxsize=8)
def guideline_block(guidelines: tuple[Attachment, ...]) -> str:
    """Write the guideline block.

    Args:
        guidelines: in the order of first mention, each file once.

    Returns:
        The heading and the contents, each below its path if there are several; `""` for no guidelines. A guideline
        with nothing but white space in it does not count.
    """
    visible = [guideline for guideline in guidelines if not is_blank(guideline.content)]
    if len(visible) == 1:
        return block_of_texts([visible[0].content])
    return block_of_texts([file_section(guideline) for guideline in visible])


def block_of_texts(texts: Iterable[str]) -> str:
    """Write the guideline block of texts, as they are; `""` if all of them are blank."""
    visible = [text for text in texts if not is_blank(text)]
    return "\n\n".join((GUIDELINE_HEADING, *visible)) if visible else ""
