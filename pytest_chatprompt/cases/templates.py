"""Rendering templates: the texts of a case with its variables filled in (rule A9).

In: a case and a row. Out: the case as if its author had written the rendered texts, or `EvalFileError` with the place
of each problem: that of the template, and that of the row. `case_template` calls it when the case runs;
`prompt.attachment_reading` renders the texts in files of their own.

Which texts are templates stands in `_RENDERERS`, by key of the case. A new one has its function and its line there; a
part that names its text otherwise than `value` or `file` belongs into `_part`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial, wraps
from typing import Any, Final, NamedTuple

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, UndefinedError, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from pytest_chatprompt.cases.case import EvalCase, YamlSource, place_of_row
from pytest_chatprompt.cases.message import EvalMessage, Part, TextPart
from pytest_chatprompt.cases.rows import Row
from pytest_chatprompt.cases.shared_keys import EvalCheck
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.files import MAX_CASE_BYTES, TOO_LARGE_CASE, utf8_size
from pytest_chatprompt.text.json_data import FrozenDict, freeze, thaw
from pytest_chatprompt.text.yaml import Node, Position
from pytest_chatprompt.wording import did_you_mean

# More than any text for a model needs, and done in seconds.
MAX_STEPS: Final = 1_000_000
# The same limit as for an attached file.
MAX_SIZE: Final = 20 * 1024 * 1024
MAX_WIDTH: Final = 10_000
_MAX_BITS: Final = 10_000
# Jinja's filters whose result may be much larger than what comes in.
FILTERS: Final = ("batch", "center", "format", "indent", "join", "replace", "slice")
# The filters, and the methods of a text, that take a width or a size.
_WIDE: Final = frozenset({"batch", "center", "expandtabs", "indent", "ljust", "rjust", "slice", "zfill"})
# A width or precision of `%` or `format` that is as long as five digits, or comes from a variable.
_WIDE_FORMAT: Final = re.compile(r"\d{5}|%[^%a-zA-Z]*\*|\{[^{}]*:[^{}]*\{")


class TemplateLimitError(Exception):
    """A template does too much."""


class Usage:
    """Counts the steps and the output of one rendering."""

    __slots__ = ("output", "steps")

    def __init__(self) -> None:
        self.steps = 0
        self.output = 0

    def add_step(self) -> None:
        """Count a round of a loop, or a call."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TemplateLimitError(f"the template loops and calls more than {MAX_STEPS:,} times")

    def add_output(self, size: int) -> None:
        """Count characters that are put out."""
        self.output += size
        check_size(self.output)


def check_size(size: int) -> None:
    """Raise if a value of this many characters or entries is too large.

    Raises:
        TemplateLimitError: it is.
    """
    if size > MAX_SIZE:
        raise TemplateLimitError(f"the template makes a value of more than {MAX_SIZE:,} characters")


def check_operator(operator: str, left: Any, right: Any) -> None:
    """Raise if the result of an operator would be too large.

    Args:
        operator: `+`, `*`, `**` or `%`.
        left: what stands before it.
        right: what stands behind it.
    """
    match operator, left, right:
        case "+", (str() | bytes() | list() | tuple()), (str() | bytes() | list() | tuple()):
            check_size(len(left) + len(right))
        case ("*", (str() | bytes() | list() | tuple()) as values, int() as count) | (
            "*",
            int() as count,
            (str() | bytes() | list() | tuple()) as values,
        ):
            check_size(len(values) * count)
        case "*", int(), int():
            _check_bits(left.bit_length() + right.bit_length())
        case "**", int(), int():
            _check_bits(left.bit_length() * right)
        case "%", str(), _:
            _check_format(left)


def check_call(name: str, text: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise if a filter, or a method of a text, could make too large a text.

    Args:
        name: the name of the filter or method.
        text: what it is called on.
        args: its arguments.
        kwargs: its named arguments.
    """
    arguments = (*args, *kwargs.values())
    if name in ("format", "format_map"):
        _check_format(text)
    elif name == "replace":
        _check_replaced(text, arguments)
    elif name == "join":
        _check_joined(text, arguments[0] if arguments else ())
    elif name in _WIDE and any(isinstance(argument, int) and argument > MAX_WIDTH for argument in arguments):
        raise TemplateLimitError(f"a width or size for {name!r} is more than {MAX_WIDTH:,}")


def limited(name: str, filter_function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a filter so that it checks its arguments first.

    Args:
        name: its name, one of `FILTERS`.
        filter_function: Jinja's own.
    """
    # Jinja passes its own context first to some filters.
    first = 1 if hasattr(filter_function, "jinja_pass_arg") else 0

    @wraps(filter_function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        value, others = args[first], args[first + 1 :]
        if name == "join":
            value = list(value)
            _check_joined(str(others[0] if others else kwargs.get("d", "")), value)
        else:
            check_call(name, str(value), others, kwargs)
        return filter_function(*args[:first], value, *others, **kwargs)

    return checked


def _check_bits(bits: int) -> None:
    if bits > _MAX_BITS:
        raise TemplateLimitError("the template calculates a number that is too long")


def _check_format(text: str) -> None:
    if _WIDE_FORMAT.search(text):
        raise TemplateLimitError(f"a width of the format {text[:50]!r} is too large, or is not written out")


def _check_replaced(text: str, arguments: tuple[Any, ...]) -> None:
    match arguments:
        case (str() as old, str() as new, *_):
            check_size(len(text) + text.count(old) * len(new))


def _check_joined(separator: str, parts: Any) -> None:
    if isinstance(parts, list | tuple):
        check_size(len(separator) * len(parts) + sum(len(part) for part in parts if isinstance(part, str)))


# Names that no template can write, so they never collide with its variables and filters.
_USAGE: Final = "<usage>"
_COUNTED: Final = "<counted>"
_CONCATENATED: Final = "<concatenated>"
# What differs from run to run would differ from every snapshot.
_RANDOM_FILTERS: Final = ("random",)
_RANDOM_GLOBALS: Final = ("lipsum",)
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


class UndefinedNameError(UndefinedError):
    """A template uses a name that does not exist.

    Args:
        name: the name.
        owner: the value that has no such attribute; `missing` for a variable.
        message: Jinja's words.
    """

    def __init__(self, name: str, owner: Any, message: str) -> None:
        self.name = name
        self.owner = None if owner is missing else owner
        self.is_variable = owner is missing
        super().__init__(message)


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


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with the limits of this package."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=_Undefined, keep_trailing_newline=True, optimized=False, finalize=_count_output)
        self.filters.update({name: limited(name, self.filters[name]) for name in FILTERS})
        self.filters.update({_COUNTED: _count_steps, _CONCATENATED: _concatenate, "tojson": _to_json})
        for name in _RANDOM_FILTERS:
            del self.filters[name]
        for name in _RANDOM_GLOBALS:
            del self.globals[name]

    def make_template(self, text: str) -> Template:
        """Compile a template.

        Raises:
            TemplateSyntaxError: it is not valid.
        """
        stand_in = next((character for character in _STAND_INS if character not in text), "")
        tree = self.parse(text.replace("\r", stand_in) if stand_in else text)
        for node in list(tree.find_all(nodes.Node)):
            self._prepare(node, stand_in)
        tree.set_environment(self)
        return Template.from_code(self, self.compile(tree), self.make_globals(None))

    def _prepare(self, node: nodes.Node, stand_in: str) -> None:
        """Make a node count what it does, and give back the carriage returns of its text."""
        tag = _OTHER_FILES.get(type(node))
        if tag is not None:
            raise TemplateSyntaxError(f"a template cannot {tag} others; attach a file as a part instead", node.lineno)
        for name, value in node.iter_fields():
            if isinstance(value, nodes.Concat):
                setattr(node, name, _concatenation(value))
            elif isinstance(value, list):
                value[:] = [_concatenation(each) if isinstance(each, nodes.Concat) else each for each in value]
            elif stand_in and isinstance(value, str):
                setattr(node, name, value.replace(stand_in, "\r"))
        if isinstance(node, nodes.For):
            node.iter = _filtered(_COUNTED, node.iter, node.lineno)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """An entry of a mapping, else an attribute: `order.items` is what the row says, not Python's method."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Calculate, if the result is not too large."""
        check_operator(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as in Jinja
        """Call what a template may call, if it has not called too often and the result is not too large."""
        __context[_USAGE].add_step()
        # Jinja wraps the methods that format a text. An empty text is an owner like any other.
        owner = getattr(getattr(__obj, "__wrapped__", __obj), "__self__", None)
        if isinstance(owner, str):
            check_call(__obj.__name__, owner, args, kwargs)
        return super().call(__context, __obj, *args, **kwargs)


def _filtered(name: str, node: Any, line: int) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=line)


def _concatenation(node: nodes.Concat) -> nodes.Filter:
    return _filtered(_CONCATENATED, nodes.Tuple(node.nodes, "load", lineno=node.lineno), node.lineno)


def _concatenate(values: tuple[Any, ...]) -> str:
    texts = [_as_text(value) for value in values]
    check_size(sum(map(len, texts)))
    return "".join(texts)


@pass_context
def _count_steps(context: Context, values: Any) -> Iterator[Any]:
    usage: Usage = context[_USAGE]
    for value in values:
        usage.add_step()
        yield value


@pass_context
def _count_output(context: Context, value: Any) -> str:
    text = _as_text(value)
    context[_USAGE].add_output(len(text))
    return text


def _as_text(value: Any) -> str:
    """The text of a value, if it is the same in every run."""
    text = str(value)
    if not isinstance(value, _DATA) and _ADDRESS.search(text):
        kind = type(value).__name__
        raise TemplateLimitError(
            f"a value of the type {kind} has no text of its own; call a function with (), or add | list"
        )
    return text


def _to_json(value: Any, indent: int | None = None) -> str:
    """JSON as it is: Jinja's own filter escapes it for HTML and sorts its keys."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


@lru_cache(maxsize=1)
def _sandbox() -> TemplateSandbox:
    return TemplateSandbox()


@lru_cache(maxsize=500)
def compile_template(text: str) -> Template:
    """Compile a template; the rows of a case share it.

    Raises:
        TemplateSyntaxError: it is not valid.
    """
    return _sandbox().make_template(text)


def render(text: str, variables: Mapping[str, Any]) -> str:
    """Render a template.

    Args:
        text: the template.
        variables: plain JSON data by name.

    Raises:
        Exception: the template is not valid, uses an unknown name, or fails as it calculates; any type of exception.
    """
    usage = Usage()
    chunks = []
    for chunk in compile_template(text).generate({**variables, _USAGE: usage}):
        usage.add_output(len(chunk))
        chunks.append(chunk)
    return "".join(chunks)


def known_names(kind: str) -> list[str]:
    """The names of the filters or the tests.

    Args:
        kind: `filter` or `test`.
    """
    names = _sandbox().filters if kind == "filter" else _sandbox().tests
    return [name for name in names if name.isidentifier()]


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


# A quoted text ends at its quote, however many lines it has.
_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\'\'|[^\'])*\'', re.DOTALL)
_WORDS: Final = re.compile(r"\{?[{%#]?\s*[\w.]+|\S+")


def position_in_scalar(source: YamlSource, node: Node, text: str, offset: int) -> Position:
    """Find a character of a text in the file.

    Args:
        source: the file.
        node: the node of the text.
        text: the text.
        offset: the 0-based index of the character.

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


_Location = tuple[str | int, ...]


def render_case(case: EvalCase, row: Row | None) -> EvalCase:
    """Fill in the variables of a case.

    Args:
        case: a case with variables, as its author wrote it.
        row: the row whose variables win over those of the case; `None` for none.

    Returns:
        The case, with all of its variables in `vars`, and the row in its origin.

    Raises:
        EvalFileError: a text is not a valid template, uses an unknown name, or fails; one problem for each text.
    """
    variables = {**thaw(case.vars or {}), **(row.values if row else {})}
    rendered = case.model_copy(update={"vars": freeze(variables)})
    rendered._origin = case.origin._replace(row=row)
    renderer = _Renderer(rendered, variables)
    texts = {key: render(renderer, getattr(case, key), (key,)) for key, render in _RENDERERS.items()}
    if renderer.diagnostics:
        raise EvalFileError(sorted(renderer.diagnostics))
    # The copy is ours alone so far.
    vars(rendered).update(texts)
    return rendered


class TextTemplateError(Exception):
    """A text in a file of its own cannot be rendered; the error's text says where in it, and why."""


def render_text(template: str, variables: Mapping[str, Any]) -> str:
    """Fill variables into a text that stands in a file of its own.

    Args:
        template: the text of the file.
        variables: by name, frozen or not.

    Raises:
        TextTemplateError: it is not a valid template, uses an unknown name, or fails.
    """
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
    """Renders the texts of one case, and collects what is wrong with them.

    Args:
        case: the case, with the row in its origin.
        variables: plain JSON data by name.
    """

    case: EvalCase
    variables: Mapping[str, Any]
    diagnostics: set[Diagnostic] = field(default_factory=set)
    _bytes: int = 0

    def render(self, template: str, location: _Location) -> str:
        """Render a text; one that cannot be rendered is reported and stays as it is."""
        if "{" not in template:
            return template

        if self._bytes > MAX_CASE_BYTES:
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


def _text(renderer: _Renderer, text: str | None, location: _Location) -> str | None:
    return None if text is None else renderer.render(text, location)


def _metadata(renderer: _Renderer, metadata: Mapping[str, Any], location: _Location) -> Mapping[str, Any]:
    prompt = metadata.get("systemPrompt")
    if prompt is None:
        return metadata
    return FrozenDict({**metadata, "systemPrompt": renderer.render(prompt, (*location, "systemPrompt"))})


def _messages(renderer: _Renderer, messages: tuple[Any, ...], location: _Location) -> tuple[Any, ...]:
    return tuple(_message(renderer, message, (*location, index)) for index, message in enumerate(messages))


def _message(renderer: _Renderer, message: Any, location: _Location) -> Any:
    """Render the texts of a message; data of `expected_messages` that is not a message has all its texts rendered."""
    if not isinstance(message, EvalMessage):
        return _data(renderer, message, location)
    location = (*location, "content")
    match message.content:
        case None:
            return message
        case str() as text:
            content: Any = renderer.render(text, location)
        case Mapping() as data:
            content = _data(renderer, data, location)
        case parts:
            content = tuple(_part(renderer, part, (*location, index)) for index, part in enumerate(parts))
    return message.model_copy(update={"content": content})


def _data(renderer: _Renderer, data: Any, location: _Location) -> Any:
    """Frozen data with each text in it rendered; keys stay as they are."""
    if isinstance(data, dict):
        return FrozenDict({key: _data(renderer, value, (*location, key)) for key, value in data.items()})
    if isinstance(data, tuple):
        return tuple(_data(renderer, value, (*location, index)) for index, value in enumerate(data))
    return renderer.render(data, location) if isinstance(data, str) else data


def _part(renderer: _Renderer, part: Part, location: _Location) -> Part:
    key = "file" if isinstance(part, TextPart) and part.file is not None else "value"
    template = getattr(part, key)
    location = (*location, key)
    value = renderer.render(template, location)
    if not value.strip() and (key == "file" or not isinstance(part, TextPart)):
        renderer.report("the path of the file is empty once its variables are filled in", location, template)
    return part.model_copy(update={key: value})


def _checks(renderer: _Renderer, checks: tuple[EvalCheck, ...], _: _Location) -> tuple[EvalCheck, ...]:
    return tuple(replace(check, arguments=_arguments(renderer, check)) for check in checks)


def _arguments(renderer: _Renderer, check: EvalCheck) -> FrozenDict:
    """The values of a check with all their texts rendered, except `of`, which is a keyword."""
    return FrozenDict(
        {
            key: value if key == "of" else _data(renderer, value, (*check.location, key))
            for key, value in check.arguments.items()
        }
    )


_RENDERERS: Final[dict[str, Callable[[_Renderer, Any, _Location], Any]]] = {
    "outcome": _text,
    "metadata": _metadata,
    "input_messages": _messages,
    "expected_messages": _messages,
    "checks": _checks,
}
