"""The guideline block: the part of the system message that holds the guidelines (rules B3 and B4).

In: the guidelines of a case. Out: the text of the block. `conversion` calls it; providers use the heading for legacy
requests. Which files are guidelines is decided in `guideline_patterns`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from pytest_chatprompt.prompt.attachments import Attachment
from pytest_chatprompt.prompt.parts import file_section

GUIDELINE_HEADING: Final = "[[ ## Guidelines ## ]]"


# The cases of a file usually share their guidelines, so most blocks are the same.
@lru_cache(maxsize=8)
def guideline_block(guidelines: tuple[Attachment, ...]) -> str:
    """Write the guideline block.

    Args:
        guidelines: in the order of first mention, each file once.

    Returns:
        The heading and the contents, each below its path if there are several; `""` for no guidelines.
    """
    if not guidelines:
        return ""
    contents = (
        [guidelines[0].content] if len(guidelines) == 1 else [file_section(guideline) for guideline in guidelines]
    )
    return "\n\n".join((GUIDELINE_HEADING, *contents))
