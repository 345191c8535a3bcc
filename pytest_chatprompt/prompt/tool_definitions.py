"""The tools and the response format of a request, brought from either of OpenAI's shapes into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pytest_chatprompt.errors import PayloadError


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function that the model may call, with its index among the tools; what the author does not say is `None`."""

    index: int
    name: str
    description: str | None
    parameters: Mapping[str, Any] | None
    strict: bool | None


class ToolChoice(NamedTuple):
    """Which tools the model may or must call: only those of `names`, if there are any.

    `is_list` says that the author wrote `allowed_tools`, of which one name is a list too.
    """

    mode: Literal["auto", "none", "required"]
    names: tuple[str, ...] = ()
    is_list: bool = False


class OutputSchema(NamedTuple):
    """The schema of the answer; what the author does not say is `None`."""

    name: str
    description: str | None
    schema: Mapping[str, Any]
    strict: bool | None


def named_in(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping with the name of a tool or of a tool choice: nested in chat completions, the same in Responses."""
    nested = tool.get(tool["type"])
    return nested if isinstance(nested, Mapping) else tool


def function_tools(tools: Sequence[Mapping[str, Any]]) -> tuple[FunctionTool, ...]:
    """The function tools among the tools of a request; tools of other types are left out."""
    return tuple(
        FunctionTool(
            index,
            function["name"],
            function.get("description"),
            function.get("parameters"),
            function.get("strict"),
        )
        for index, tool in enumerate(tools)
        if tool["type"] == "function"
        for function in (named_in(tool),)
    )


def require_functions(tools: Sequence[Mapping[str, Any]], vendor: str) -> tuple[FunctionTool, ...]:
    """The tools of a request, for an API that has no other type; else a `PayloadError`."""
    for index, tool in enumerate(tools):
        if tool["type"] != "function":
            raise PayloadError(
                f"{vendor} has no tool of OpenAI's type {tool['type']!r}; "
                "write a function, or put the API's own tools into settings.extra_body",
                location=("tools", index),
            )
    return function_tools(tools)


def read_tool_choice(choice: str | Mapping[str, Any], vendor: str) -> ToolChoice:
    """Bring a tool choice into one form; a `PayloadError` if it chooses something other than functions."""
    match choice:
        case "auto" | "none" | "required":
            return ToolChoice(choice)
        case Mapping() if choice["type"] == "function":
            return ToolChoice("required", (named_in(choice)["name"],))
        case Mapping() if choice["type"] == "allowed_tools":
            allowed = choice.get("allowed_tools", choice)
            if all(tool["type"] == "function" for tool in allowed["tools"]):
                names = tuple(named_in(tool)["name"] for tool in allowed["tools"])
                return ToolChoice(allowed["mode"], names, is_list=True)
    raise PayloadError(
        f"{vendor} can only be made to call functions, and 'tool_choice' names another tool; choose a function",
        location=("tool_choice",),
    )


def chosen_names(choice: str | Mapping[str, Any] | None) -> tuple[str, ...]:
    """The names of the functions and custom tools that a tool choice names; empty if it names none."""
    if choice is None or isinstance(choice, str):
        return ()
    allowed = choice.get("allowed_tools", choice)
    tools = allowed["tools"] if choice["type"] == "allowed_tools" else (choice,)
    return tuple(named_in(tool)["name"] for tool in tools if tool["type"] in ("function", "custom"))


def output_schema(response_format: Mapping[str, Any]) -> OutputSchema | None:
    """The schema of a format; `None` if it has none."""
    if response_format["type"] != "json_schema":
        return None
    schema = named_in(response_format)
    return OutputSchema(schema["name"], schema.get("description"), schema["schema"], schema.get("strict"))
