"""Errors of templates: what is wrong with a text, and at which of its characters.

In: a template, and what Jinja raised. Out: an offset and a sentence. Pure; only `template_rendering` calls it, and it
is imported with Jinja.

Jinja knows the line of an error, not its column, so the tag is looked for in that line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from jinja2 import TemplateSyntaxError
from jinja2.exceptions import SecurityError

from pytest_chatprompt.evalfile.template_limits import TemplateLimitError
from pytest_chatprompt.evalfile.template_sandbox import UndefinedNameError, compile_template, known_names, render
from pytest_chatprompt.wording import did_you_mean

# A tag, or the start of one that is never closed.
_TAG: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\{[{%#]", re.DOTALL)
_UNKNOWN: Final = re.compile(r"No (filter|test) named '(.*)'(?: found)?\.$")
_MOST_NAMES: Final = 10


class TemplateProblem(NamedTuple):
    """What is wrong with a template.

    Args:
        offset: the 0-based index of the character that it is about.
        text: what is wrong, and what to write instead.
    """

    offset: int
    text: str


def explain_template_error(error: Exception, template: str, variables: Mapping[str, Any]) -> TemplateProblem:
    """Say what is wrong with a template, and where.

    Args:
        error: what rendering it raised.
        template: its text.
        variables: what it was rendered with.
    """
    line = _line(error)
    match error:
        case UndefinedNameError():
            return TemplateProblem(_find_word(template, line, error.name), _explain_name(error, variables))
        case TemplateSyntaxError():
            message = error.message or "it is not valid"
            unknown = _UNKNOWN.search(message)
            if unknown is not None:
                kind, name = unknown.groups()
                suggestion = did_you_mean(name, known_names(kind))
                text = f"unknown {kind} {name!r}" + (f"; {suggestion}" if suggestion else "")
                return TemplateProblem(_find_word(template, line, name), text)
            text = f"not a valid template: {message[:1].lower()}{message[1:].removesuffix('.')}"
        case TemplateLimitError() | SecurityError():
            text = str(error).removesuffix(".")
        case MemoryError():
            text = "the template needs too much memory"
        case _:
            text = f"the template fails with {type(error).__name__}: {error}"
    return TemplateProblem(_find_culprit(template, line, error, variables), text)


def _explain_name(error: UndefinedNameError, variables: Mapping[str, Any]) -> str:
    if error.is_variable:
        suggestion = did_you_mean(error.name, variables) or _list_of(variables)
        return f"unknown variable {error.name!r}; {suggestion}"
    keys = list(error.owner) if isinstance(error.owner, Mapping) else []
    suggestion = did_you_mean(error.name, keys)
    return f"there is no {error.name!r} in this value" + (f"; {suggestion}" if suggestion else "")


def _list_of(variables: Iterable[str]) -> str:
    names = list(variables)
    if not names:
        return "there are no variables; add it to 'vars'"
    return f"the variables are {', '.join(names[:_MOST_NAMES])}" + (", ..." if len(names) > _MOST_NAMES else "")


def _line(error: Exception) -> int:
    """The 1-based line of the template at which an error was raised."""
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    line, traceback = 1, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _find_word(template: str, line: int, word: str) -> int:
    """The offset of a word in a tag of a line, else of the line's first tag."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    tags = list(_tags(template, line))
    found = (pattern.search(template, start, end) for start, end in tags)
    return next((match.start() for match in found if match is not None), _first(template, line, tags))


def _find_culprit(template: str, line: int, error: Exception, variables: Mapping[str, Any]) -> int:
    """The offset of the tag of a line that fails, found by trying each tag alone."""
    tags = list(_tags(template, line))
    for start, end in tags if len(tags) > 1 else ():
        try:
            if isinstance(error, TemplateSyntaxError):
                compile_template(template[start:end])
            else:
                render(template[start:end], variables)
        except type(error):
            return start
        except Exception:  # noqa: S112 - this tag needs the ones around it
            continue
    return _first(template, line, tags)


def _tags(template: str, line: int) -> Iterator[tuple[int, int]]:
    """The tags on a 1-based line: where the part of each on that line begins and ends."""
    first, last = _bounds(template, line)
    for tag in _TAG.finditer(template):
        if tag.start() < last and tag.end() > first:
            yield max(tag.start(), first), tag.end()


def _first(template: str, line: int, tags: list[tuple[int, int]]) -> int:
    return tags[0][0] if tags else _bounds(template, line)[0]


def _bounds(template: str, line: int) -> tuple[int, int]:
    """Where a 1-based line begins and ends."""
    first = 0
    for _ in range(line - 1):
        first = template.find("\n", first) + 1
    last = template.find("\n", first)
    return first, len(template) if last < 0 else last
