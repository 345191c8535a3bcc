"""Templates: the texts of a case with its variables filled in, by Jinja in its sandbox (rule A9)."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pytest_chatprompt.cases.case import EvalCase, EvalCheck, case_diagnostic
from pytest_chatprompt.cases.message import EvalMessage, FilePart, MediaPart, TextPart
from pytest_chatprompt.cases.origin import Row
from pytest_chatprompt.errors import Diagnostic, EvalFileError, Location
from pytest_chatprompt.text.files import MAX_BYTES
from pytest_chatprompt.text.json_data import FrozenDict, freeze, thaw
from pytest_chatprompt.wording import did_you_mean

_MOST_NAMES: Final = 10


class TextTemplateError(Exception):
    """A text cannot be rendered; the error's text says in which line of it, and why."""


def render_case(case: EvalCase, row: Row | None) -> EvalCase:
    """Fill in the variables of a case, and of a row, which win; an `EvalFileError` has a problem for each text."""
    variables = {**thaw(case.vars or {}), **(row.values if row else {})}
    rendered = case.model_copy(update={"vars": freeze(variables)})
    rendered._origin = case.origin._replace(row=row)
    renderer = _Renderer(rendered, variables)
    keys = ("outcome", "request", "input_messages", "expected_messages", "checks")
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
    return render(template, thaw(variables)) if "{" in template else template


@dataclass(eq=False, slots=True)
class _Renderer:
    """Renders the texts of one case, and collects what is wrong with them."""

    case: EvalCase
    variables: Mapping[str, Any]
    diagnostics: set[Diagnostic] = field(default_factory=set)

    def fill(self, value: Any, location: Location) -> Any:
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
                key = "file" if isinstance(value, TextPart) and value.file is not None else "value"
                return value.model_copy(update={key: self.render(getattr(value, key), (*location, key))})
            case EvalCheck():
                texts = {key: text for key, text in value.arguments.items() if key != "of"}
                return replace(value, arguments=FrozenDict({**value.arguments, **self.fill(texts, value.location)}))
        return value

    def render(self, template: str, location: Location) -> str:
        """Render a text; one that cannot be rendered is reported and stays as it is."""
        if "{" not in template:
            return template
        try:
            return render(template, self.variables)
        except TextTemplateError as error:
            # The text's position is that of its first line.
            text = f"the text's {error}".removeprefix("the text's line 1: ")
            self.diagnostics.add(case_diagnostic(self.case, text, *location))
            return template


class _Undefined(StrictUndefined):
    """Fails on any use but a test or `default`."""

    __slots__ = ()

    def __repr__(self) -> str:
        # A list of them would be put out as `[Undefined]`.
        return str(self)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, without what differs from run to run and so from every snapshot."""

    def __init__(self) -> None:
        super().__init__(undefined=_Undefined, keep_trailing_newline=True)
        self.filters["tojson"] = _to_json
        del self.filters["random"], self.globals["lipsum"]

    def getattr(self, obj: Any, attribute: str) -> Any:
        """An entry of a mapping, else an attribute: `order.items` is what the row says, not Python's method."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


def _to_json(value: Any, indent: int | None = None) -> str:
    """JSON as it is: Jinja's own filter escapes it for HTML and sorts its keys."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


_SANDBOX: Final = _Sandbox()


# The rows of a case share its templates.
@lru_cache(maxsize=500)
def _compile(text: str) -> Template:
    return _SANDBOX.from_string(text)


def render(text: str, variables: Mapping[str, Any]) -> str:
    """Render a template with plain JSON data; any error in it is a `TextTemplateError`."""
    chunks, size = [], 0
    try:
        for chunk in _compile(text).generate(variables):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BYTES:
                raise SecurityError(f"the template puts out more than {MAX_BYTES:,} characters")
    except Exception as error:
        raise TextTemplateError(f"line {_line(error)}: {explain_template_error(error, variables)}") from error
    return "".join(chunks)


def explain_template_error(error: Exception, variables: Mapping[str, Any]) -> str:
    """Say what is wrong with a template."""
    match error:
        case UndefinedError():
            # Jinja's words for it.
            unknown = re.fullmatch(r"'(\w+)' is undefined", str(error))
            return str(error) if unknown is None else _explain_name(unknown[1], variables)
        case TemplateSyntaxError():
            message = error.message or "it is not valid"
            return f"not a valid template: {message[:1].lower()}{message[1:].removesuffix('.')}"
        case SecurityError():
            return str(error).removesuffix(".")
    return f"the template fails with {type(error).__name__}: {error}"


def _explain_name(name: str, variables: Mapping[str, Any]) -> str:
    names = ", ".join(list(variables)[:_MOST_NAMES]) + (", ..." if len(variables) > _MOST_NAMES else "")
    known = f"the variables are {names}" if names else "there are no variables; add it to 'vars'"
    return f"unknown variable {name!r}; {did_you_mean(name, variables) or known}"


def _line(error: Exception) -> int:
    """The 1-based line of the template at which an error was raised."""
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    steps = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in steps if frame.f_code.co_filename == "<template>"]
    return lines[-1] if lines else 1
