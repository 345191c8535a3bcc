"""Text that looks like a template, `{{ name }}`, in a case without variables: it is sent as it is.

In: the cases of a file. Out: the first such text, with its position. Pure; `items.file` warns about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_chatprompt.errors import Diagnostic
from pytest_chatprompt.evalfile.case import EvalCase, case_diagnostic
from pytest_chatprompt.evalfile.message import TextPart

# A variable, perhaps with an attribute or a filter; not the braces of code.
_VARIABLE: Final = re.compile(r"\{\{-?\s*[^\W\d]\w*\s*(?:[.\[|(][^{}\n]*)?-?\}\}")


def find_literal_template(cases: Sequence[EvalCase]) -> Diagnostic | None:
    """Find the first text that looks like a template in a case without variables.

    Args:
        cases: the valid cases of one file, as their authors wrote them.

    Returns:
        The warning about it; `None` if there is no such text.
    """
    # The text of the whole file is searched first, which is done in no time.
    if not cases or "{{" not in cases[0].origin.source.text:
        return None
    for case in cases:
        if case.vars is not None:
            continue
        for location, content in _texts(case):
            variable = _VARIABLE.search(content) if "{{" in content else None
            if variable is not None:
                text = (
                    f"{variable[0]} is sent as it is, because neither the case nor its file has 'vars' or "
                    "'parametrize'; define the variable there, or filter this warning"
                )
                return case_diagnostic(case, text, *location)
    return None


def _texts(case: EvalCase) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The texts of a case that are sent, each with the keys that lead to it."""
    for index, message in enumerate(case.input_messages):
        location = ("input_messages", index, "content")
        if isinstance(message.content, str):
            yield location, message.content
        else:
            for number, part in enumerate(message.parts):
                yield (*location, number, "value"), part.value
                if isinstance(part, TextPart) and part.file is not None:
                    yield (*location, number, "file"), part.file
    if case.system_prompt is not None:
        yield ("metadata", "systemPrompt"), case.system_prompt
