"""Templates: the texts of a case with its variables filled in, by Jinja in its sandbox (rule A9)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from pytest_chatprompt.cases.case import EvalCase, EvalCheck, place_of_row
from pytest_chatprompt.cases.message import EvalMessage, FilePart, MediaPart, Part, TextPart
from pytest_chatprompt.cases.origin import YamlSource
from pytest_chatprompt.cases.rows import Row
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.files import MAX_BYTES, MAX_CASE_BYTES, TOO_LARGE_CASE, utf8_size
from pytest_chatprompt.text.json_data import FrozenDict, freeze, thaw
from pytest_chatprompt.text.yaml import Node, Position
from pytest_chatprompt.wording import did_you_mean

_OTHER_FILES: Final[dict[type[nodes.Node], str]] = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
    nodes.Extends: "extends",
}
# Functions and generators are put out with their address in memory.
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+>$")
_DATA: Final = (str, int, float, list, dict, tuple)
# White space to Jinja, and no line break to YAML: one of them stands for a carriage return, which Jinja would drop.
_STAND_INS: Final = "\x1f\x1e\x1d\x1c\x0b\x0c"
# A tag, or the start of one that is never closed.
_TAG: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\{[{%#]", re.DOTALL)
_UNKNOWN: Final = re.compile(r"No (filter|test) named '(.*)'(?: found)?\.$")
_MOST_NAMES: Final = 10
# A quoted text of YAML ends at its quote, however many lines it has.
_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\'\'|[^\'])*\'', re.DOTALL)
_WORDS: Final = re.compile(r"\{?[{%#]?\s*[\w.]+|\S+")
_Location = tuple[str | int, ...]


class TextTemplateError(Exception):
    """A text in a file of its own cannot be rendered; the error's text says where in it, and why."""


class TemplateOutputError(Exception):
    """A template puts out what cannot be sent."""


class UndefinedNameError(UndefinedError):
    """A template uses a name that does not exist: a variable if `owner` is `missing`, else an attribute of `owner`."""

    def __init__(self, name: str, owner: Any, message: str) -> None:
        self.name = name
        self.owner = owner
        super().__init__(message)


def render_case(case: EvalCase, row: Row | None) -> EvalCase:
    """Fill in the variables of a case, and those of a row, which win.

    Raises:
        EvalFileError: texts are not valid templates, use unknown names, or fail; one problem for each text.
    """
    variables = {**thaw(case.vars or {}), **(row.values if row else {})}
    rendered = case.model_copy(update={"vars": freeze(variables)})
    rendered._origin = case.origin._replace(row=row)
    renderer = _Renderer(rendered, variables)
    keys = ("outcome", "input_messages", "expected_messages", "checks")
    texts = {key: renderer.fill(getattr(case, key), (key,)) for key in keys}
    if case.system_prompt is not None:
        prompt = renderer.render(case.system_prompt, ("metadata", "systemPrompt"))
        texts["metadata"] = FrozenDict({**case.metadata, "systemPrompt": prompt})
    if renderer.diagnostics:
        raise EvalFileError(sorted(renderer.diagnostics))
    # The copy is ours alone so far.
    vars(rendered).update(texts)
    return rendered


def render_text(template: str, variables: Mapping[str, Any]) -> str:
    """Fill variables into a text that stands in a file of its own."""
    if "{" not in template:
        return template
    values = thaw(variables)
    try:
        return render(template, values)
    except Exception as error:
        problem = explain_template_error(error, template, values)
        before = template[: problem.offset]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise TextTemplateError(f"line {line}, column {column}: {problem.text}") from error


@dataclass(eq=False, slots=True)
class _Renderer:
    """Renders the texts of one case, and collects what is wrong with them."""

    case: EvalCase
    variables: Mapping[str, Any]
    diagnostics: set[Diagnostic] = field(default_factory=set)
    _bytes: int = 0

    def fill(self, value: Any, location: _Location) -> Any:
        """A value with all of its texts rendered; keys, and what only looks like a text, stay as they are."""
        match value:
            case str():
                return self.render(value, location)
            case dict():
                return FrozenDict({key: self.fill(inner, (*location, key)) for key, inner in value.items()})
            case tuple():
                return tuple(self.fill(inner, (*location, index)) for index, inner in enumerate(value))
            case EvalMessage() if value.content is not None:
                return value.model_copy(update={"content": self.fill(value.content, (*location, "content"))})
            case TextPart() | FilePart() | MediaPart():
                return self.fill_part(value, location)
            case EvalCheck():
                texts = {key: text for key, text in value.arguments.items() if key != "of"}
                return replace(value, arguments=FrozenDict({**value.arguments, **self.fill(texts, value.location)}))
        return value

    def fill_part(self, part: Any, location: _Location) -> Part:
        key = "file" if isinstance(part, TextPart) and part.file is not None else "value"
        template = getattr(part, key)
        value = self.render(template, (*location, key))
        if not value.strip() and (key == "file" or not isinstance(part, TextPart)):
            text = "the path of the file is empty once its variables are filled in"
            self.report(text, (*location, key), template)
        filled: Part = part.model_copy(update={key: value})
        return filled

    def render(self, template: str, location: _Location) -> str:
        """Render a text; one that cannot be rendered is reported and stays as it is."""
        if "{" not in template or self._bytes > MAX_CASE_BYTES:
            return template
        try:
            text = render(template, self.variables)
        except Exception as error:
            problem = explain_template_error(error, template, self.variables)
            self.report(problem.text, location, template, problem.offset)
            return template
        self._bytes += utf8_size(text)
        if self._bytes > MAX_CASE_BYTES:
            self.report(TOO_LARGE_CASE, location, template)
        return text

    def report(self, text: str, location: _Location, template: str, offset: int = 0) -> None:
        """Report a problem at a character of a template."""
        origin = self.case.origin
        node = _find_text(origin.source.root, ("evalcases", origin.case_index), location, template)
        position = position_in_scalar(origin.source, node, template, offset)
        text += place_of_row(origin.row)
        self.diagnostics.add(Diagnostic(origin.shown_path, *position, text, case_id=self.case.full_id))


def _find_text(root: Node, case_location: _Location, location: _Location, text: str) -> Node:
    """The node of a text: in the case, or among the keys of the file, where the case takes it over."""
    if "checks" in location:
        # A check knows its place in the file.
        candidates: list[_Location] = [location]
    elif location == ("outcome",):
        candidates = [(*case_location, key) for key in ("outcome", "expected_outcome")]
    else:
        candidates = [(*case_location, *location), location]
    nodes = [root.find(candidate) for candidate in candidates]
    return next((node for node in nodes[:-1] if node.value == text), nodes[-1])


class _Undefined(StrictUndefined):
    """Fails on any use but a test or `default`, and knows the name."""

    __slots__ = ()

    def __init__(
        self, hint: str | None = None, obj: Any = missing, name: str | None = None, exc: Any = UndefinedError
    ) -> None:
        if exc is UndefinedError and isinstance(name, str):
            exc = partial(UndefinedNameError, name, obj)
        super().__init__(hint, obj, name, exc)

    def __repr__(self) -> str:
        # A list of them would be put out as `[Undefined]`.
        return str(self)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, without what differs from run to run and so from every snapshot."""

    def __init__(self) -> None:
        super().__init__(undefined=_Undefined, keep_trailing_newline=True, finalize=_finalize)
        self.filters["tojson"] = _to_json
        del self.filters["random"], self.globals["lipsum"]

    def compile_text(self, text: str) -> Template:
        stand_in = next((character for character in _STAND_INS if character not in text), "\n")
        tree = self.parse(text.replace("\r", stand_in))
        for other in tree.find_all(tuple(_OTHER_FILES)):
            reason = f"a template cannot {_OTHER_FILES[type(other)]} others; attach a file as a part instead"
            raise TemplateSyntaxError(reason, other.lineno)
        if "\r" in text and stand_in != "\n":
            for node in tree.find_all((nodes.TemplateData, nodes.Const)):
                (name,) = node.fields
                value = getattr(node, name)
                setattr(node, name, value.replace(stand_in, "\r") if isinstance(value, str) else value)
        return self.from_string(tree)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """An entry of a mapping, else an attribute: `order.items` is what the row says, not Python's method."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


def _finalize(value: Any) -> Any:
    """Refuse a value whose text differs from run to run."""
    if not isinstance(value, _DATA) and _ADDRESS.search(str(value)):
        kind = type(value).__name__
        reason = f"a value of the type {kind} has no text of its own; call a function with (), or add | list"
        raise TemplateOutputError(reason)
    return value


def _to_json(value: Any, indent: int | None = None) -> str:
    """JSON as it is: Jinja's own filter escapes it for HTML and sorts its keys."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


_SANDBOX: Final = _Sandbox()


# The rows of a case share its templates.
@lru_cache(maxsize=500)
def _compile(text: str) -> Template:
    return _SANDBOX.compile_text(text)


def render(text: str, variables: Mapping[str, Any]) -> str:
    """Render a template with plain JSON data; an error in it may raise any type of exception."""
    chunks, size = [], 0
    for chunk in _compile(text).generate(variables):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BYTES:
            raise TemplateOutputError(f"the template puts out more than {MAX_BYTES:,} characters")
    return "".join(chunks)


class TemplateProblem(NamedTuple):
    """What is wrong with a template, and the 0-based index of the character that it is about."""

    offset: int
    text: str


def explain_template_error(error: Exception, template: str, variables: Mapping[str, Any]) -> TemplateProblem:
    """Say what is wrong with a template, and where: Jinja knows the line of an error, and not its column."""
    line = _line(error)
    match error:
        case UndefinedNameError():
            return TemplateProblem(_find_word(template, line, error.name), _explain_name(error, variables))
        case TemplateSyntaxError():
            message = error.message or "it is not valid"
            unknown = _UNKNOWN.search(message)
            if unknown is not None:
                kind, name = unknown.groups()
                names = _SANDBOX.filters if kind == "filter" else _SANDBOX.tests
                suggestion = did_you_mean(name, filter(str.isidentifier, names))
                text = f"unknown {kind} {name!r}" + (f"; {suggestion}" if suggestion else "")
                return TemplateProblem(_find_word(template, line, name), text)
            text = f"not a valid template: {message[:1].lower()}{message[1:].removesuffix('.')}"
        case TemplateOutputError() | SecurityError():
            text = str(error).removesuffix(".")
        case MemoryError():
            text = "the template needs too much memory"
        case _:
            text = f"the template fails with {type(error).__name__}: {error}"
    return TemplateProblem(_find_culprit(template, line, error, variables), text)


def _explain_name(error: UndefinedNameError, variables: Mapping[str, Any]) -> str:
    if error.owner is missing:
        names = ", ".join(list(variables)[:_MOST_NAMES]) + (", ..." if len(variables) > _MOST_NAMES else "")
        known = f"the variables are {names}" if names else "there are no variables; add it to 'vars'"
        return f"unknown variable {error.name!r}; {did_you_mean(error.name, variables) or known}"
    suggestion = did_you_mean(error.name, error.owner if isinstance(error.owner, Mapping) else ())
    return f"there is no {error.name!r} in this value" + (f"; {suggestion}" if suggestion else "")


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
    tags = _tags(template, line)
    found = (pattern.search(template, start, end) for start, end in tags)
    return next((match.start() for match in found if match is not None), tags[0][0])


def _find_culprit(template: str, line: int, error: Exception, variables: Mapping[str, Any]) -> int:
    """The offset of the tag of a line that fails alone, else of the line's first tag."""
    tags = _tags(template, line)
    for start, end in tags if len(tags) > 1 else ():
        try:
            render(template[start:end], variables)
        except type(error):
            return start
        except Exception:  # noqa: S112 - this tag needs the ones around it
            continue
    return tags[0][0]


def _tags(template: str, line: int) -> list[tuple[int, int]]:
    """Where the part of each tag on a 1-based line begins, and where the tag ends; the whole line if it has no tag."""
    lines = template.split("\n")
    first = sum(len(each) + 1 for each in lines[: line - 1])
    last = first + len(lines[line - 1])
    tags = (tag.span() for tag in _TAG.finditer(template))
    return [(max(start, first), end) for start, end in tags if start < last and end > first] or [(first, last)]


def position_in_scalar(source: YamlSource, node: Node, text: str, offset: int) -> Position:
    """Find a character of a text in its YAML file.

    Returns:
        Its position; that of the node if YAML writes the text with escapes, or breaks it within a word.
    """
    start = source.offset(node.position)
    quoted = _QUOTED.match(source.text, start)
    end = len(source.text) if quoted is None else quoted.end()
    for begin, fragment in _fragments(text, offset):
        # Without escapes the file has the same fragments in the same order.
        index = start - 1
        for _ in range(text.count(fragment, 0, begin) + 1):
            index = source.text.find(fragment, index + 1, end)
            if index < 0:
                break
        if index >= 0:
            return source.position(index + offset - begin)
    return node.position


def _fragments(text: str, offset: int) -> Iterator[tuple[int, str]]:
    """What to look for in the file: the line around the character, what follows it there, the word that it begins."""
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    line_end = len(text) if line_end < 0 else line_end
    if line_end > line_start:
        yield line_start, text[line_start:line_end]
        word = _WORDS.match(text, offset, line_end)
        if word is not None:
            yield offset, text[offset:line_end]
            yield offset, word[0]
