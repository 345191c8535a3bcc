"""Rules about the tools that a request defines, and which of them the model has to call.

A `PreflightInput` comes in; each definition that breaks the rule comes out, with a text for the user. The tables in
`rules` call these functions. Rules about calls of tools, in messages, are in `tool_call_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_chatprompt.providers.preflight.preflight_input import PreflightInput
from pytest_chatprompt.providers.preflight.rule import RuleFunction, Violation
from pytest_chatprompt.wording import did_you_mean


def tool_names(pattern: str, allowed: str) -> RuleFunction:
    """Make a rule function that finds definitions of tools whose names the API refuses.

    Args:
        pattern: a regular expression that matches a whole valid name.
        allowed: the same in words, such as `1 to 64 of a-z`.
    """
    valid_name = re.compile(pattern)

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        for index, name in _names(request):
            if not valid_name.fullmatch(name):
                yield (
                    ("tools", index),
                    f"{request.vendor} refuses the tool name {name!r}; a name must be {allowed}",
                )

    return find_violations


def names_defined_twice(request: PreflightInput) -> Iterator[Violation]:
    """Tools with the name of an earlier tool."""
    seen: set[str] = set()
    for index, name in _names(request):
        if name in seen:
            yield (
                ("tools", index),
                f"{request.vendor} refuses two tools of the same name, and {name!r} is defined before; rename one",
            )
        seen.add(name)


def choices_without_tools(request: PreflightInput) -> Iterator[Violation]:
    """A tool choice that names a tool which is not defined, or that stands without any tool."""
    # Most requests have no tools.
    from pytest_chatprompt.prompt.tool_definitions import chosen_names  # noqa: PLC0415

    known = [name for _, name in _names(request)]
    for name in chosen_names(request.tool_choice):
        if name not in known:
            hint = did_you_mean(name, known) or "define it under 'tools'"
            yield (
                ("tool_choice",),
                f"{request.vendor} refuses a tool_choice that is not among the tools, and there is no {name!r}; {hint}",
            )
    if request.tool_choice is not None and not request.tools and not chosen_names(request.tool_choice):
        yield ("tool_choice",), f"{request.vendor} refuses a tool_choice without tools; define them, or leave it out"


def choices_ignored(request: PreflightInput) -> Iterator[Violation]:
    """A tool choice other than `auto`, for an API that takes one and does not look at it."""
    if request.tool_choice not in (None, "auto"):
        yield (
            ("tool_choice",),
            f"{request.vendor} ignores tool_choice, so the model may call any tool or none; leave it out",
        )


def json_without_the_word(request: PreflightInput) -> Iterator[Violation]:
    """The response format `json_object` where no message mentions JSON, which the API takes for a mistake."""
    wanted = request.response_format
    if wanted is None or wanted.get("type") != "json_object":
        return
    if not any("json" in message.text.casefold() for message in request.prompt):
        yield (
            ("response_format",),
            f"{request.vendor} refuses the format json_object if no message contains the word JSON; "
            "say in a message what the answer must be",
        )


def schema_name(request: PreflightInput) -> Iterator[Violation]:
    """A response format whose name the API refuses."""
    # Most requests have no format.
    from pytest_chatprompt.prompt.tool_definitions import output_schema  # noqa: PLC0415

    schema = None if request.response_format is None else output_schema(request.response_format)
    if schema is not None and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", schema.name):
        yield (
            ("response_format",),
            f"{request.vendor} refuses the name {schema.name!r} of a response format; "
            "a name must be 1 to 64 of a-z, A-Z, 0-9, _ and -",
        )


def _names(request: PreflightInput) -> Iterator[tuple[int, str]]:
    """The indexes and the names of the tools that have one."""
    # Most requests have no tools.
    from pytest_chatprompt.prompt.tool_definitions import named_in  # noqa: PLC0415

    for index, tool in enumerate(request.tools):
        name = named_in(tool).get("name")
        if isinstance(name, str):
            yield index, name
