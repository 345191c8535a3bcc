"""Variables: which names and values the texts of a case may use.

In: a mapping of `vars`, or a row of a dataset. Out: what is wrong with it, in words for its author. Pure.
`shared_keys` checks `vars` with it, `rows` each row, `dataset_csv` the header.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple

from pytest_chatprompt.evalfile.json_data import MAX_DEPTH
from pytest_chatprompt.evalfile.schema_annotations import characters_pattern, pattern

# What Jinja reads as something else than a variable.
_RESERVED: Final = frozenset(
    {"and", "else", "if", "in", "is", "not", "or", "true", "false", "none", "True", "False", "None", "self"}
)
_QUOTES: Final = "; put it in quotes if you mean text"
_SIMPLE: Final = (str, int, bool, type(None))


def variable_name_pattern() -> str:
    """A pattern of the names that a variable may have, for the JSON Schema; letters outside of ASCII all match."""
    first = characters_pattern(str.isidentifier)
    later = characters_pattern(lambda character: f"a{character}".isidentifier())
    return f"^(?!({'|'.join(sorted(_RESERVED))})$){first}{later}*$"


VariableName = Annotated[str, pattern(variable_name_pattern)]
Variables = Mapping[VariableName, Any]


class VariableProblem(NamedTuple):
    """What is wrong with a variable.

    Args:
        key: its name.
        is_name: whether the name is wrong, and not the value.
        text: what is wrong, and what to write instead.
    """

    key: str
    is_name: bool
    text: str


def find_problem(variables: Mapping[Any, Any]) -> VariableProblem | None:
    """Find the first variable that no template could use.

    Args:
        variables: plain data, by name.

    Returns:
        The problem; `None` if there is none.
    """
    for name, value in variables.items():
        if not isinstance(name, str):
            return VariableProblem(str(name), True, f"the key {name} is not a string; put it in quotes")
        if not name.isidentifier():
            text = f"{name!r} cannot name a variable; use letters, digits and _, and do not begin with a digit"
            return VariableProblem(name, True, text)
        if name in _RESERVED:
            text = f"{name!r} cannot name a variable, because templates read it as something else; rename it"
            return VariableProblem(name, True, text)
        if type(value) in _SIMPLE and (not isinstance(value, str) or value.isascii()):
            continue
        text = _problem_of_value(value, depth=1)
        if text:
            return VariableProblem(name, False, f"the value of {name!r} {text}")
    return None


def _problem_of_value(value: Any, depth: int) -> str:
    """What is wrong with a value, to be put after its name; `""` for nothing."""
    if depth > MAX_DEPTH:
        return f"is nested more than {MAX_DEPTH} levels deep"
    match value:
        case str():
            return "" if _is_unicode(value) else "has half of a character: a surrogate without its other half"
        case float():
            return "" if math.isfinite(value) else f"is not a finite number ({value}){_QUOTES}"
        case dict():
            key = next((key for key in value if not isinstance(key, str)), None)
            if key is not None:
                return f"has the key {key}, which is not a string; put it in quotes"
            return next(filter(None, (_problem_of_value(inner, depth + 1) for inner in (*value, *value.values()))), "")
        case list() | tuple():
            return next(filter(None, (_problem_of_value(inner, depth + 1) for inner in value)), "")
        case None | bool() | int():
            return ""
        case other:
            return f"is {describe_data(other)}{_QUOTES}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def describe_data(value: Any) -> str:
    """Describe plain data, such as `the number 3`, `'text'`, `a list` or `null`.

    Args:
        value: what a reader of YAML, JSON or CSV gave.
    """
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return repr(value)
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case other:
            return f"the {type(other).__name__} {other}"
