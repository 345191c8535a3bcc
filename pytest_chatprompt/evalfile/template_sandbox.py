"""The sandbox: Jinja, restricted to what a text of an eval file may do.

In: a template and its variables. Out: the text, or the error of Jinja, which `template_errors` explains.
`template_rendering` and `template_errors` import this module, and only once a template is rendered: it imports Jinja.

An eval file is data. Jinja's sandbox keeps templates away from Python's objects and limits `range`. This one limits too
how often a template loops and calls, how much it puts out, and how large a value an operator, a filter or a method of
a text can make. It does not limit the seconds or the memory of a single filter on large variables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, UndefinedError, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from pytest_chatprompt.evalfile import template_limits as limits

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
        self.filters.update({name: limits.limited(name, self.filters[name]) for name in limits.FILTERS})
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
        limits.check_operator(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as in Jinja
        """Call what a template may call, if it has not called too often and the result is not too large."""
        __context[_USAGE].add_step()
        # Jinja wraps the methods that format a text. An empty text is an owner like any other.
        owner = getattr(getattr(__obj, "__wrapped__", __obj), "__self__", None)
        if isinstance(owner, str):
            limits.check_call(__obj.__name__, owner, args, kwargs)
        return super().call(__context, __obj, *args, **kwargs)


def _filtered(name: str, node: Any, line: int) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=line)


def _concatenation(node: nodes.Concat) -> nodes.Filter:
    return _filtered(_CONCATENATED, nodes.Tuple(node.nodes, "load", lineno=node.lineno), node.lineno)


def _concatenate(values: tuple[Any, ...]) -> str:
    texts = [_as_text(value) for value in values]
    limits.check_size(sum(map(len, texts)))
    return "".join(texts)


@pass_context
def _count_steps(context: Context, values: Any) -> Iterator[Any]:
    usage: limits.Usage = context[_USAGE]
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
        raise limits.TemplateLimitError(
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
    usage = limits.Usage()
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
