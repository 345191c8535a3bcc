"""`settings`: the parameters of a request, such as the temperature, that an eval file or a case sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, PlainValidator

from pytest_chatprompt.cases.fields import (
    KnownNames,
    NonEmptyString,
    OtherKeys,
    ReasoningEffort,
    Seed,
    Stop,
    StrictModel,
    TopP,
    is_integer,
    is_number,
)
from pytest_chatprompt.text.json_data import (
    FrozenDict,
    checked,
    deep_merge,
    freeze,
    require_json_mapping,
    unexpected,
    without_extensions,
)


class RequestSettings(StrictModel):
    """The settings of a request; `None` leaves a setting out, even if the provider sets it.

    Attributes:
        model: the model's name; on Azure, the deployment's.
        temperature: 0 or more.
        top_p: from 0 to 1.
        stop: the texts before which the model stops.
        seed: makes answers repeatable, if the model supports it.
        max_output_tokens: the largest number of tokens in the answer.
        reasoning_effort: how long the model thinks before it answers.
        extra_body: merged into the JSON body: mappings key by key, any other value replaces what is there.
    """

    level = "settings"

    # Most eval files have none.
    model_config = ConfigDict(defer_build=True)

    model: Annotated[
        NonEmptyString, checked("a text that is not empty", lambda value: isinstance(value, str) and value != "")
    ] = ""
    temperature: (
        Annotated[float, Field(ge=0), checked("a number, 0 or more", lambda value: is_number(value) and value >= 0)]
        | None
    ) = None
    top_p: TopP | None = None
    stop: Stop | None = None
    seed: Seed | None = None
    max_output_tokens: (
        Annotated[
            int, Field(ge=1), checked("a whole number, 1 or more", lambda value: is_integer(value) and value >= 1)
        ]
        | None
    ) = None
    reasoning_effort: ReasoningEffort | None = None
    extra_body: Annotated[Mapping[str, Any], PlainValidator(require_json_mapping)] | None = None


SETTING_NAMES: Final = tuple(RequestSettings.model_fields)
# They stand beside the settings, so no provider of that name is meant.
_NO_PROVIDERS: Final = frozenset({*SETTING_NAMES, "tools", "tool_choice", "response_format"})
WrittenSettings = Annotated[RequestSettings, OtherKeys(dict[Annotated[str, KnownNames("provider")], RequestSettings])]


class _Levels(BaseModel):
    """The settings for all providers, and those for one; error messages leave out the aliases."""

    model_config = ConfigDict(defer_build=True)

    own: RequestSettings = Field(alias="<settings>")
    by_provider: dict[str, RequestSettings] = Field(alias="<providers>")


def read_settings(data: Any) -> FrozenDict | None:
    """Check the settings of a file or a case.

    Args:
        data: settings by name, and mappings of settings by the name of a provider; `None` for none.

    Raises:
        PydanticCustomError, ValidationError: what is wrong with them.
    """
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise unexpected("a mapping")
    settings = without_extensions(data)
    by_provider = {name: without_extensions(settings[name]) for name in provider_names(settings)}
    own = {name: value for name, value in settings.items() if name not in by_provider}
    _Levels.model_validate({"<settings>": own, "<providers>": by_provider})
    frozen: FrozenDict = freeze({**own, **by_provider})
    return frozen


def read_request_settings(data: Any) -> FrozenDict:
    """Check the settings of a request, which is for one provider.

    Raises:
        PydanticCustomError, ValidationError: what is wrong with them.
    """
    if not isinstance(data, Mapping):
        raise unexpected("a mapping")
    RequestSettings.model_validate(data)
    frozen: FrozenDict = freeze(data)
    return frozen


def provider_names(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the providers that have settings of their own in these."""
    return tuple(name for name, value in settings.items() if isinstance(value, Mapping) and name not in _NO_PROVIDERS)


def merge_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> FrozenDict:
    """Merge settings key by key, also within `extra_body` and the mapping of a provider; the second ones win."""
    merged: FrozenDict = freeze(deep_merge(first, second))
    return merged


def merge_settings_of_case(file: Mapping[str, Any], case: Mapping[str, Any]) -> FrozenDict:
    """Merge the settings of a case into those of its file; also those for all providers win over the file's for one."""
    own = {name: value for name, value in case.items() if name not in provider_names(case)}
    by_provider = {name: _without(file[name], own) for name in provider_names(file)}
    return merge_settings({**file, **by_provider}, case)


def _without(settings: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those that others set, key by key within mappings."""
    kept = {}
    for name, value in settings.items():
        other = others.get(name)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            kept[name] = _without(value, other)
        elif name not in others:
            kept[name] = value
    return kept


def settings_for(provider_name: str | None, settings: Mapping[str, Any]) -> FrozenDict:
    """The settings for one provider: those under its name win over those for all.

    Args:
        provider_name: the name by which it was asked for; `None` for none, which has no settings of its own.
        settings: as `read_settings` gives them.
    """
    names = provider_names(settings)
    own = {name: value for name, value in settings.items() if name not in names}
    return merge_settings(own, settings[provider_name] if provider_name in names else {})
