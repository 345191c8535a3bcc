"""Render promptfoo's Nunjucks templates: the part of the language that prompts use; anything else is an error.

Source: https://mozilla.github.io/nunjucks/templating.html, and the package `nunjucks` (`lexer.js`, `filters.js`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_chatprompt.cases import templates
from pytest_chatprompt.cases.formats.foreign_file import ProblemError
from pytest_chatprompt.cases.rows import find_problem
from pytest_chatprompt.text.json_data import as_in_javascript
from pytest_chatprompt.text.yaml import Node, make_node
from pytest_chatprompt.wording import did_you_mean


class UnsupportedTemplateError(Exception):
    """A template has something that is not read here, or that puts out what nobody means: what, and what to do."""


class UnknownNameError(Exception):
    """A template uses a variable that does not exist, for which Nunjucks puts out nothing."""


_STEP: Final = r"""\.[A-Za-z_]\w*|\[\d+\]|\["[^"\\]*"\]|\['[^'\\]*'\]"""
_CHAIN: Final = rf"(?:[A-Za-z_]\w*|\(\s*[A-Za-z_]\w*\s*\|\s*load\s*\))(?:{_STEP})*"
_FILTER: Final = re.compile(r"""\s*(\w+)\s*(?:\(\s*(\d+|"[^"\\]*"|'[^'\\]*')?\s*\))?\s*""", re.ASCII)
_NO_FOR: Final = r"(?:(?!\{%\s*(?:end)?for\b).)"
_END: Final = r"\{%\s*endfor\s*%\}"
_TAG: Final = re.compile(
    r"(?<!\{)(?:\{%\s*raw\s*%\}(?P<raw>.*?)\{%\s*endraw\s*%\}|\{#(?!-).*?(?<!-)#\}"
    rf"|\{{%\s*for\s+(?P<names>[A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)?)\s+in\s+(?P<items>{_CHAIN})\s*%\}}"
    rf"(?P<body>(?:{_NO_FOR}|\{{%\s*for\b{_NO_FOR}*{_END})*){_END}"
    rf"|\{{\{{\s*(?P<chain>{_CHAIN})\s*(?P<filters>(?:\|[^|{{}}]*)*)\}}\}})",
    re.DOTALL | re.ASCII,
)
# For such a text promptfoo's `autoWrapRawIfPartialNunjucks` renders nothing at all.
_OPEN: Final = re.compile(r"\{%[^%]*$|\{\{[^}]*$|\{#[^#]*$", re.MULTILINE)
# What an expression reads as something else than a variable.
_WORDS: Final = frozenset({"true", "false", "none", "null", "not", "and", "or", "if", "else", "in", "is"})
# What JavaScript's `\s` is.
_SPACE: Final = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


def strip(text: str) -> str:
    """Strip the white space that JavaScript's `trim` strips."""
    return text.strip(_SPACE)


def put_out(value: Any) -> str:
    """A value as Nunjucks puts it out."""
    if isinstance(value, list):
        return ",".join(map(put_out, value))
    if isinstance(value, Mapping):
        raise UnsupportedTemplateError("a mapping put out as [object Object]; name one of its keys, or write | dump")
    return "" if value is None else value if isinstance(value, str) else dump(value)


def dump(value: Any, indent: str = "") -> str:
    """JSON as JavaScript writes it."""
    text = json.dumps(
        as_in_javascript(value),
        ensure_ascii=False,
        indent=int(indent) if indent else None,
        separators=None if indent else (",", ":"),
    )
    if re.search(r'"\d+":', text):
        raise UnsupportedTemplateError("a mapping whose keys are numbers, which JavaScript sorts; use other keys")
    if re.search(r"\d{16}|\d[eE][-+]?\d|NaN|Infinity", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        raise UnsupportedTemplateError("a number that JavaScript writes in another way; put it in quotes")
    return text


def _load(value: Any) -> Any:
    try:
        return json.loads(_need(str, value))
    except (ValueError, RecursionError) as error:
        raise UnsupportedTemplateError(f"the filter load on what is no JSON: {error}; write JSON") from None


def _need(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise UnsupportedTemplateError(f"a filter on a value of another kind than {kind.__name__}; remove it")
    return value


_FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "dump": dump,
    "join": lambda value, separator="": separator.join(map(put_out, _need(list, value))),
    "length": lambda value: len(value if isinstance(value, list) else _need(str, value).encode("utf-16-le")[::2]),
    "load": _load,
    "lower": lambda value: _need(str, value).lower(),
    "safe": put_out,
    "trim": lambda value: strip(_need(str, value)),
    "upper": lambda value: _need(str, value).upper(),
}


def render(template: str, variables: Mapping[str, Any]) -> str:
    """Render a template as promptfoo does.

    Raises:
        UnknownNameError: a variable does not exist.
        UnsupportedTemplateError: the template has what is not read here.
    """
    if "{" not in template and "#}" not in template:
        return template
    if _OPEN.search(template) and "endraw" not in template:
        raise UnsupportedTemplateError("a tag that does not end on its line, so promptfoo fills in nothing; close it")
    begin = 0
    output: list[str] = []
    for tag in _TAG.finditer(template):
        output += (_plain(template[begin : tag.start()]), _put_out_tag(tag, variables))
        begin = tag.end()
    return "".join([*output, _plain(template[begin:])])


def _plain(text: str) -> str:
    """The text between two tags."""
    mark = re.search(r"\{\{.{,40}|\{%.{,40}|\{#.{,40}|#\}", text)
    if mark is not None:
        hint = "write the text that is meant, or put it into a variable; {% raw %}...{% endraw %} holds braces"
        raise UnsupportedTemplateError(f"{mark[0]!r}, which is code for Nunjucks, and is not translated; {hint}")
    return text


def _put_out_tag(tag: re.Match[str], variables: Mapping[str, Any]) -> str:
    if tag["chain"] is not None:
        return put_out(_value(tag["chain"], tag["filters"].split("|")[1:], variables))
    if tag["items"] is None:
        return tag["raw"] or ""
    items = _value(tag["items"], [], variables)
    names = re.split(r"\s*,\s*", tag["names"])
    if not isinstance(items, list if len(names) == 1 else Mapping):
        raise UnsupportedTemplateError(f"'for' over {tag['items']!r}, which is no list; make it a list of mappings")
    rounds = [(item,) for item in items] if isinstance(items, list) else [*json.loads(dump(items)).items()]
    loops = [{"index": index + 1, "index0": index, "length": len(rounds)} for index in range(len(rounds))]
    own = (dict(zip(("loop", *names), (loop, *each), strict=True)) for loop, each in zip(loops, rounds, strict=True))
    return "".join(render(tag["body"], {**variables, **each}) for each in own)


def _value(chain: str, filters: list[str], variables: Mapping[str, Any]) -> Any:
    """The value of an expression: a variable, keys and indexes in it, and filters."""
    head, *steps = re.findall(rf"^\(?\s*\w+|{_STEP}", chain, re.ASCII)
    name = re.sub(r"\W", "", head)
    calls = [match.groups() for match in map(_FILTER.fullmatch, filters) if match]
    known = {"default", *_FILTERS}
    is_known = all(call in known and (not argument or call in ("default", "dump", "join")) for call, argument in calls)
    if not is_known or len(calls) < len(filters):
        written = " | ".join((chain, *map(str.strip, filters)))
        raise UnsupportedTemplateError(f"{written!r}: only default, {', '.join(_FILTERS)} are translated, as filters")
    default = next((argument for call, argument in calls if call == "default"), None)
    if name not in variables and (name in _WORDS or default is None):
        raise UnknownNameError(name)
    value = variables[name] if name in variables else str(default)[1:-1]
    value = _load(value) if head[0] == "(" else value
    for step in steps:
        key = step[1:] if step[0] == "." else step[1:-1].strip("'\"")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise UnsupportedTemplateError(f"{chain!r}, where {key!r} does not exist; name something that does")
    for call, argument in calls:
        if call != "default":
            value = _FILTERS[call](value, *([argument.strip("\"'")] if argument else []))
    return value


_PLACEHOLDER: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)


def fill_in(variables: dict[str, Any], place: Node) -> None:
    """Fill the variables that the values of others name into these, as often as promptfoo does."""
    for _ in range(5):
        before = {**variables}
        for name, value in before.items():
            match = _PLACEHOLDER.search(value) if isinstance(value, str) else None
            if match is not None and match[1] in variables:
                inner = variables[match[1]]
                if inner is None or isinstance(inner, dict) or re.search(r"\$[$&`']", str(inner)):
                    raise ProblemError(place, f"promptfoo garbles {match[0]} in {name!r}; write out what is meant")
                variables[name] = value.replace(match[0], put_out(inner), 1)


class CaseTexts:
    """Writes the texts of a case: as templates where ours put out the same, else as what Nunjucks puts out."""

    def __init__(self, variables: dict[str, Any], place: Node) -> None:
        self.variables = variables
        # promptfoo renders the values of variables too, if the prompt is a text.
        self.rendered = {name: self._rendered(value, place) for name, value in variables.items()}
        shown = {
            name: put_out(value) if value is None or isinstance(value, bool | float) else value
            for name, value in self.rendered.items()
        }
        self.shown = {name: value for name, value in shown.items() if find_problem({name: value}) is None}
        self.keeps_templates = True
        self.has_templates = False

    def _rendered(self, value: Any, place: Node) -> Any:
        text = self.put_out(value, place, self.variables) if isinstance(value, str) else value
        return value if text is None else text

    @staticmethod
    def put_out(template: str, place: Node, variables: Mapping[str, Any] | None) -> str | None:
        """What a template puts out, itself if it is none; `None` if it uses a variable that does not exist."""
        try:
            return template if variables is None else render(template, variables)
        except UnknownNameError:
            return None
        except UnsupportedTemplateError as error:
            raise ProblemError(place, f"this text has {error}") from None

    def final(self, template: str, place: Node, variables: Mapping[str, Any] | None) -> str:
        """What a template puts out; a `ProblemError` if it uses a variable that does not exist."""
        text = self.put_out(template, place, variables)
        if text is None:
            names = [
                name for name in re.findall(r"\{[{%][^}]*?(?:\bin\s+)?(\w+)", template) if name not in self.variables
            ]
            hint = did_you_mean(names[0], self.variables) or f"the variables are {', '.join(self.variables)}"
            raise ProblemError(place, f"unknown variable {names[0]!r}; {hint}")
        return text

    def write(self, template: str, place: Node, variables: Mapping[str, Any] | None = None) -> Node:
        """The node of a template that is rendered with some variables, or of a text."""
        self.has_templates |= "{" in template
        text = self.put_out(template, place, variables)
        if self.keeps_templates and "{" in template:
            try:
                self.keeps_templates = templates.render(template, self.shown) == text
            except templates.TextTemplateError:
                # A case with an unknown variable says so itself.
                self.keeps_templates = text is None
        return make_node(template if self.keeps_templates else self.final(template, place, variables), place)
