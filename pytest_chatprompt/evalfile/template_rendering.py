"""Rendering templates: the texts of a case with its variables filled in (rule A9).

In: a case and a row. Out: the case as if its author had written the rendered texts, or `EvalFileError` with the place
of each problem: that of the template, and that of the row. `case_template` calls it when the case runs;
`prompt.attachment_reading` renders the texts in files of their own.

Which texts are templates stands in `_RENDERERS`, by key of the case. A new one has its function and its line there; a
part that names its text otherwise than `value` or `file` belongs into `_part`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile.case import EvalCase, place_of_row
from pytest_chatprompt.evalfile.eval_check import EvalCheck
from pytest_chatprompt.evalfile.frozen_dict import FrozenDict, freeze, thaw
from pytest_chatprompt.evalfile.message import EvalMessage, Part, TextPart
from pytest_chatprompt.evalfile.rows import Row
from pytest_chatprompt.evalfile.scalar_position import position_in_scalar
from pytest_chatprompt.evalfile.text_file import MAX_CASE_BYTES, TOO_LARGE_CASE, utf8_size
from pytest_chatprompt.evalfile.yaml_tree import Node

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
    from pytest_chatprompt.evalfile.template_sandbox import render  # noqa: PLC0415 - it imports Jinja

    values = thaw(variables)
    try:
        return render(template, values)
    except Exception as error:
        from pytest_chatprompt.evalfile.template_errors import explain_template_error  # noqa: PLC0415

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
        from pytest_chatprompt.evalfile.template_sandbox import render  # noqa: PLC0415 - it imports Jinja

        if self._bytes > MAX_CASE_BYTES:
            return template
        try:
            text = render(template, self.variables)
        except Exception as error:
            from pytest_chatprompt.evalfile.template_errors import explain_template_error  # noqa: PLC0415

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
