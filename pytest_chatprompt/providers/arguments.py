"""Checks the keyword arguments of a provider when it is made; values are never converted."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Set
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from pytest_chatprompt.wording import did_you_mean


def _require_number(value: object) -> object:
    # pydantic takes everything with `__float__` for a number, and JSON cannot hold a `Decimal`.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("number_type", "Input should be a valid number")
    return value


# A finite `int` or `float` from 0 on, and one above it.
NonNegativeNumber = Annotated[float, BeforeValidator(_require_number), Field(ge=0, allow_inf_nan=False)]

PositiveNumber = Annotated[float, BeforeValidator(_require_number), Field(gt=0, allow_inf_nan=False)]

T = TypeVar("T")
# Arguments of a command line: a text would be taken for the list of its characters.
Arguments = list[str] | tuple[str, ...]


def check_settings(
    provider: object, settings: Mapping[str, Any], settings_type: type, lacking: Set[str] = frozenset()
) -> None:
    """Refuse settings with an unknown name or an invalid value, by the `TypedDict` that declares them."""
    check_names(provider, settings, settings_type, lacking)
    for name, value in settings.items():
        check_setting(provider, name, value, _annotations(settings_type)[name])


def check_names(provider: object, names: Iterable[str], settings_type: type, lacking: Set[str] = frozenset()) -> None:
    """Refuse settings with an unknown name."""
    for name in names:
        if name in lacking or name not in settings_type.__annotations__:
            known = sorted({*_own_arguments(type(provider)), *settings_type.__annotations__} - lacking)
            suggestion = did_you_mean(name, known)
            hint = f" ({suggestion})" if suggestion else ""
            raise TypeError(
                f"{type(provider).__name__} has no setting {name!r}{hint}; its settings are {', '.join(known)}"
            )


def check_setting(provider: object, name: str, value: T, annotation: Any) -> T:
    """Refuse a keyword argument with an invalid value, and give it back; `provider` may be the name of a function."""
    __tracebackhide__ = True
    try:
        _adapter(annotation).validate_python(value)
    except ValidationError as error:
        problem = _problem(name, value, error)
        owner = provider if isinstance(provider, str) else type(provider).__name__
        # `from None`: pydantic's own text shows the value, which may be a key.
        raise ValueError(f"{owner}: {problem}") from None
    return value


def _problem(name: str, value: object, error: ValidationError) -> str:
    """Say what a value must be and what it is, such as `temperature must be a valid number, but is 'hot'`."""
    # Of several the innermost: a value may be one of several types.
    worst = max(error.errors(include_url=False, include_context=False), key=lambda each: len(each["loc"]))
    requirement = re.sub(r"^\w+ should ", "must ", worst["msg"])
    key = worst["loc"][0] if worst["loc"] else None
    setting = f"{name}[{key!r}]" if isinstance(value, Mapping) and key in value else name
    invalid = worst["input"]
    # These hold secrets.
    shown = f"of type {type(invalid).__name__}" if name in ("api_key", "env", "headers") else repr(invalid)
    return f"{setting} {requirement}, but is {shown}"


# Both are cached: they take far longer than a check, and a run makes many providers.
@cache
def _annotations(settings_type: type) -> dict[str, Any]:
    return get_type_hints(settings_type, include_extras=True)


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    # Strict: neither "5" nor True is a number.
    return TypeAdapter(annotation, config=ConfigDict(strict=True))


def _own_arguments(provider: type) -> list[str]:
    """The arguments that a class names in its signature, beside its `**settings`."""
    parameters = inspect.signature(provider).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
