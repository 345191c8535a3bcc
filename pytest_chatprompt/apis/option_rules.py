"""Preflight rules about settings, about tools and formats that a request defines, and the JSON Schemas in them.

Source for schemas: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas. That `oneOf` is
refused too, the page does not say, but the API does: https://community.openai.com/t/932422.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_chatprompt.apis import message_rules
from pytest_chatprompt.apis.conversation import as_items, as_mapping
from pytest_chatprompt.apis.preflight import (
    Found,
    PreflightInput,
    Rule,
    RuleFunction,
    RuleLocation,
    about_calls,
    about_definitions,
    told,
)
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.prompt.request import OutputSchema, chosen_names, function_tools, named_in, output_schema
from pytest_chatprompt.wording import did_you_mean

_DEFAULT_TEMPERATURE: Final = 1
# Anthropic's first API version without a temperature. Versions are dates, so they sort as text.
_TEMPERATURE_REMOVED_IN: Final = "2026-10-21"


def _once(breaks: Callable[[PreflightInput], bool], *location: str, text: str) -> RuleFunction:
    """A rule about a request as a whole; `{request...}` of its text is filled in."""
    return told(text)(lambda request: [(location, {"request": request})] if breaks(request) else [])


max_output_tokens_above_limit: Final = _once(
    lambda request: (request.max_output_tokens or 0) > (request.limits.max_output_tokens or math.inf),
    *("settings", "max_output_tokens"),
    text="max_output_tokens is {request.max_output_tokens}, but {request.vendor}'s {request.model} supports at most "
    "{request.limits.max_output_tokens}; lower it, or set model_limits if this model supports more",
)
max_tokens_not_accepted: Final = _once(
    lambda request: request.limits.max_tokens is False and "max_tokens" in request.body,
    *("settings", "max_output_tokens"),
    text="{request.vendor}'s {request.model} refuses max_tokens; leave out max_tokens_parameter, so that "
    "max_completion_tokens is sent, or set model_limits if this model accepts it",
)
# A model's name that only Gemini's beta version knows, such as `gemini-flash-latest`.
aliases_of_beta: Final = _once(
    lambda request: request.api_version == "v1" and request.model.endswith("-latest"),
    *("settings", "model"),
    text="{request.vendor} knows {request.model} in its API version v1beta only; "
    "name a model with its version, or set api_version",
)
temperature_not_accepted: Final = _once(
    lambda request: request.limits.temperature is False and request.temperature not in (None, _DEFAULT_TEMPERATURE),
    *("settings", "temperature"),
    text=f"{{request.vendor}}'s {{request.model}} refuses a temperature other than {_DEFAULT_TEMPERATURE}; "
    "leave it out, or set model_limits if this model accepts one",
)


# Texts to stop at, for a model that takes none.
stops_not_accepted: Final = _once(
    lambda request: request.limits.stop is False and bool(request.body.get("stop")),
    *("settings", "stop"),
    text="{request.vendor}'s {request.model} refuses stop; leave it out, or set model_limits if this model accepts it",
)
# Options that Ollama's own API takes, at the top of a body or under `options`.
options_ignored: Final = _once(
    lambda request: not request.body.keys().isdisjoint(("num_ctx", "keep_alive", "options")),
    *("settings", "extra_body"),
    text="{request.vendor} ignores num_ctx, keep_alive and options at /v1; set them on the server "
    "(OLLAMA_CONTEXT_LENGTH, OLLAMA_KEEP_ALIVE, a Modelfile), or call /api/chat",
)


def too_many_stops(limit: int) -> RuleFunction:
    """A rule about the number of texts to stop at."""
    return _once(
        lambda request: len(as_items(request.body.get("stop"))) > limit,
        *("settings", "stop"),
        text=f"{{request.vendor}} takes up to {limit} texts under stop; leave some out",
    )


@told("{vendor} takes a custom tool for a function without a name; write a function")
def custom_tools_misread(request: PreflightInput) -> Iterator[Found]:
    """Custom tools, for an API that takes every tool for a function."""
    return ((("tools", index), {}) for index, tool in enumerate(request.tools) if tool["type"] == "custom")


@told("{vendor}'s API version {version} has no {what}; use {later}the v1 API (api_version=None)")
def missing_in_version(request: PreflightInput) -> Iterator[Found]:
    """What the dated version of Azure's API does not have yet; its v1 path, which has no date, has all of it."""
    version = request.api_version or "v1"
    custom = next((("tools", index) for index, tool in enumerate(request.tools) if tool["type"] == "custom"), None)
    audio = next((message for message in request.prompt for media in message.media if media.kind == "audio"), None)
    effort = ("settings", "reasoning_effort") if request.body.get("reasoning_effort") is not None else None
    uses: tuple[tuple[ChatMessage | RuleLocation | None, str, str], ...] = (
        (effort, "reasoning_effort", "2024-12-01-preview"),
        (audio, "audio", "2025-01-01-preview"),
        (custom, "custom tools", ""),
    )
    for place, what, since in uses:
        if place is not None and version[:1].isdecimal() and (not since or version < since):
            yield place, {"version": version, "what": what, "later": f"{since} or later, or " if since else ""}


def _removed_from_versions(name: str, in_words: str) -> RuleFunction:
    return _once(
        lambda request: request.body.get(name) is not None and (request.api_version or "") >= _TEMPERATURE_REMOVED_IN,
        *("settings", name),
        text=f"{{request.vendor}} refuses {in_words} since the API version {_TEMPERATURE_REMOVED_IN}; "
        "leave it out, or use an older version",
    )


temperature_removed: Final = _removed_from_versions("temperature", "a temperature")
top_p_removed: Final = _removed_from_versions("top_p", "top_p")


def max_output_tokens_below(least: int) -> RuleFunction:
    """A rule about the smallest `max_output_tokens` that an API takes."""
    return _once(
        lambda request: request.max_output_tokens is not None and request.max_output_tokens < least,
        *("settings", "max_output_tokens"),
        text=f"max_output_tokens is {{request.max_output_tokens}}, but {{request.vendor}} takes {least} or more; "
        "raise it, or leave it out",
    )


def temperature_range(highest: float) -> RuleFunction:
    """A rule about the highest temperature that an API takes."""
    return _once(
        lambda request: request.temperature is not None and request.temperature > highest,
        *("settings", "temperature"),
        text=f"temperature is {{request.temperature:g}}, but {{request.vendor}} takes 0 to {highest:g}",
    )


def sampling_not_accepted(parameters: Sequence[str], folder: str | None = None) -> RuleFunction:
    """A rule about other parameters of sampling, in the body or in a mapping there, for a model without temperature."""

    @told("{vendor}'s {model} refuses {name}; leave it out, or set model_limits if this model accepts a temperature")
    def find(request: PreflightInput) -> Iterator[Found]:
        holder = as_mapping(request.body if folder is None else request.body.get(folder))
        for name in parameters if request.limits.temperature is False else ():
            if holder.get(name) is not None:
                yield ("settings", "top_p" if name == "topP" else name), {"name": name}

    return find


def tool_names(pattern: str, allowed: str) -> RuleFunction:
    """A rule about the names of defined tools: a pattern for the whole name, and the same in words."""

    @told(f"{{vendor}} refuses the tool name {{name!r}}; a name must be {allowed}")
    def find(request: PreflightInput) -> Iterator[Found]:
        for index, name in _names(request):
            if not re.fullmatch(pattern, name):
                yield ("tools", index), {"name": name}

    return find


@told("{vendor} refuses a second tool {name!r}; rename one of them")
def tool_names_used_twice(request: PreflightInput) -> Iterator[Found]:
    """Tools with the name of an earlier one, such as those of two MCP servers."""
    seen: set[str] = set()
    for index, name in _names(request):
        if name in seen:
            yield ("tools", index), {"name": name}
        seen.add(name)


def roots_of_parameters(*refused: str) -> RuleFunction:
    """A rule about the root of what a tool takes: it must be an object, without these keywords beside it.

    Many an MCP server has others. What `strict` demands is told by its own rules.
    """

    @told(
        "{vendor} refuses {found} at the root of the parameters of {name!r}; "
        "write an object with properties there, and the rest into its description"
    )
    def find(request: PreflightInput) -> Iterator[Found]:
        for tool in function_tools(request.tools):
            schema = as_mapping(None if tool.strict else tool.parameters)
            found = [keyword for keyword in refused if keyword in schema]
            if schema and not found and schema.get("type") != "object":
                found = ["a type other than object"]
            if found:
                yield ("tools", tool.place), {"name": tool.name, "found": ", ".join(found)}

    return find


@told("{vendor} refuses a tool_choice {why}")
def choices_without_tools(request: PreflightInput) -> Iterator[Found]:
    """A tool choice that names a tool which is not defined, or that stands without any tool."""
    known, chosen = [name for _, name in _names(request)], chosen_names(request.tool_choice)
    for name in chosen:
        if name not in known:
            hint = did_you_mean(name, known) or "define it under 'tools'"
            yield ("tool_choice",), {"why": f"that is not among the tools, and there is no {name!r}; {hint}"}
    if request.tool_choice is not None and not request.tools and not chosen:
        yield ("tool_choice",), {"why": "without tools; define them, or leave it out"}


# A tool choice other than `auto`, for an API that takes one and does not look at it.
choices_ignored: Final = _once(
    lambda request: request.tool_choice not in (None, "auto"),
    "tool_choice",
    text="{request.vendor} ignores tool_choice, so the model may call any tool or none; leave it out",
)
json_without_the_word: Final = _once(
    lambda request: (
        request.response_format is not None
        and request.response_format.get("type") == "json_object"
        and not any("json" in message.text.casefold() for message in request.prompt)
    ),
    "response_format",
    text="{request.vendor} refuses the format json_object if no message contains the word JSON; "
    "say in a message what the answer must be",
)


@told("{vendor} refuses the name {name!r} of a response format; a name must be 1 to 64 of a-z, A-Z, 0-9, _ and -")
def schema_name(request: PreflightInput) -> Iterator[Found]:
    """A response format whose name the API refuses."""
    schema = _output_schema(request)
    if schema is not None and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", schema.name):
        yield ("response_format",), {"name": schema.name}


def _output_schema(request: PreflightInput) -> OutputSchema | None:
    return None if request.response_format is None else output_schema(request.response_format)


def _names(request: PreflightInput) -> Iterator[tuple[int, str]]:
    """The indexes and the names of the tools that have one."""
    for index, tool in enumerate(request.tools):
        name = named_in(tool).get("name")
        if isinstance(name, str):
            yield index, name


_REFUSED_KEYWORDS: Final = (
    *("allOf", "oneOf", "not", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas"),
)


def _each_strict_schema(
    find: Callable[[Mapping[str, Any]], Sequence[str]], text: str, *, every_format: bool = False
) -> RuleFunction:
    """A rule about each schema inside of strict ones; `find` gives what breaks it in one."""

    @told(text)
    def find_schemas(request: PreflightInput) -> Iterator[Found]:
        for location, name, schema in _strict_schemas(request, every_format=every_format):
            for place, inner in _walk(schema, name):
                found = find(inner)
                if found:
                    yield location, {"place": place, "found": ", ".join(found)}

    return find_schemas


def _open_objects(schema: Mapping[str, Any]) -> Sequence[str]:
    is_object = "object" in as_items(schema.get("type")) or "properties" in schema
    return ["object"] if is_object and schema.get("additionalProperties") is not False else ()


objects_with_more_properties: Final = _each_strict_schema(
    _open_objects,
    "{vendor}'s strict mode refuses {place} without 'additionalProperties: false'; add it, or leave out 'strict'",
)
# The same where every format is strict.
open_objects: Final = _each_strict_schema(
    _open_objects,
    "{vendor} refuses {place} without 'additionalProperties: false'; add it",
    every_format=True,
)
properties_not_required: Final = _each_strict_schema(
    lambda schema: [key for key in as_mapping(schema.get("properties")) if key not in as_items(schema.get("required"))],
    "{vendor}'s strict mode wants every property in 'required', and {place} leaves out {found}; "
    "add them, with null among the types of what may be missing",
)
keywords_refused: Final = _each_strict_schema(
    lambda schema: [keyword for keyword in _REFUSED_KEYWORDS if keyword in schema],
    "{vendor}'s strict mode refuses {found} in {place}; write anyOf where that will do, or leave out 'strict'",
)


@told("{vendor}'s strict mode wants an object as the root of {name}; put what is there now under a property of one")
def root_not_an_object(request: PreflightInput) -> Iterator[Found]:
    """Strict schemas whose root is not an object, or is a union."""
    for location, name, schema in _strict_schemas(request):
        if "anyOf" in schema or ("$ref" not in schema and schema.get("type") != "object"):
            yield location, {"name": name}


def _strict_schemas(
    request: PreflightInput, *, every_format: bool = False
) -> Iterator[tuple[RuleLocation, str, Mapping[str, Any]]]:
    """The schemas that the model must follow to the letter, each with its place in the eval file and its name.

    With `every_format`, those of response formats count too that do not say `strict`.
    """
    for tool in function_tools(request.tools):
        if tool.strict and tool.parameters is not None:
            yield ("tools", tool.place), f"the parameters of {tool.name!r}", tool.parameters
    schema = _output_schema(request)
    if schema is not None and (schema.strict or every_format):
        yield ("response_format",), f"the schema {schema.name!r}" if schema.name else "the schema", schema.schema


def _walk(schema: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A schema and all schemas inside it, each with how messages name its place."""
    if not isinstance(schema, Mapping):
        return
    yield place, schema
    # Keywords whose value is a schema or a list of schemas, then those whose value is a mapping with schemas as values.
    for keyword in ("items", "prefixItems", "additionalProperties", "anyOf", "allOf", "oneOf"):
        inner = schema.get(keyword)
        for index, each in enumerate(as_items(inner)):
            name = f"{keyword}[{index}]" if isinstance(inner, list | tuple) else keyword
            yield from _walk(each, f"{name} of {place}")
    for keyword in ("properties", "$defs", "definitions"):
        for key, each in as_mapping(schema.get(keyword)).items():
            yield from _walk(each, f"{key!r} of {place}")


def block_rules(calls: str, names: str, tools: str, unique: str, name: tuple[str, str]) -> tuple[Rule, ...]:
    """The rules that APIs with blocks share, by their sources; of a name its pattern, and the same in words."""
    return (
        about_calls("tool-call-without-result", calls, message_rules.calls_without_results),
        about_calls("tool-result-order", calls, message_rules.results_out_of_order),
        about_definitions("tool-name", names, tool_names(*name)),
        about_definitions("tool-name-twice", unique, tool_names_used_twice),
        about_definitions("tool-choice", tools, choices_without_tools),
    )
