"""Validation errors in the words of an eval file's author, and what to write for keys of other places and other tools.

Sources of the latter: the documentation of promptfoo, AgentV, Inspect and DeepEval, and the parameters of the vendors'
APIs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pytest_chatprompt.cases.fields import OTHER_FORMATS, Level, StrictModel
from pytest_chatprompt.cases.message import PART_MODELS, ROLES, EvalMessage, ToolCall, location_in_file
from pytest_chatprompt.cases.request_options import (
    SETTING_NAMES,
    ChatTool,
    FlatSchemaFormat,
    FlatTool,
    RequestSettings,
    SchemaDefinition,
)
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.json_data import parse_json, unique_keys
from pytest_chatprompt.text.yaml import Entry, Node, Position, YamlError, parse_yaml
from pytest_chatprompt.wording import did_you_mean

# The models inside a case, by the last step of pydantic's location that leads to them.
_INNER_MODELS: Final[dict[str, type[StrictModel]]] = {
    "input_messages": EvalMessage,
    "tool_calls": ToolCall,
    "settings": RequestSettings,
    "<chat>": ChatTool,
    "<flat>": FlatTool,
    "response_format": FlatSchemaFormat,
    "json_schema": SchemaDefinition,
    **PART_MODELS,
}
# What was expected, by pydantic's type of the error.
_EXPECTED: Final = {
    "string_type": "a string",
    "bool_type": "true or false",
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("model_type", "dict_type", "mapping_type", "model_attributes_type"), "a mapping"),
}


def explain_validation_error(
    error: ValidationError, node: Node, model: type[StrictModel] = StrictModel
) -> Iterator[tuple[Position, str]]:
    """Say for each detail of a validation error where it is in a mapping of the file, and what to write instead."""
    for detail in error.errors(include_url=False):
        model_location = detail["loc"]
        location = location_in_file(node, model_location)
        value = node.find(location)
        detail["loc"] = (*location[:1], *model_location[1:])
        match detail["type"]:
            case "extra_forbidden":
                key = str(location[-1])
                suggestion = _explain_unknown_key(key, _owner(model_location[:-1], model))
                text = f"unknown key {key!r}" + (f"; {suggestion}" if suggestion else "")
                yield node.find(location[:-1]).key_position(key), text
            case "union_tag_invalid" | "union_tag_not_found":
                yield _explain_part_type(value)
            case _:
                yield value.position, _explain_value(detail, value)


def _explain_value(detail: ErrorDetails, value: Node) -> str:
    """What is wrong with a value, for errors at its own position."""
    location = detail["loc"]
    match detail["type"]:
        case "missing":
            return f"missing key {location[-1]!r}"
        case "literal_error" if location[-1] == "role":
            return f"unknown role: {value.describe()}; {_suggest_role(value.text, detail['ctx']['expected'])}"
        case "too_short" | "string_too_short":
            return f"{_key_path(location)} is empty"
        # Raised by the validators of our models: the message is already written for the author.
        case "invalid_value":
            return detail["msg"]
        case "unexpected_value":
            return f"{_key_path(location)} {detail['msg']}, but is {value.describe()}"
        case error_type if error_type in _EXPECTED:
            description = value.describe(with_hint=error_type == "string_type")
            return f"{_key_path(location)} must be {_EXPECTED[error_type]}, but is {description}"
    hint = did_you_mean(value.text, re.findall(r"'([^']+)'", detail.get("ctx", {}).get("expected", "")))
    return f"{_key_path(location)}: {detail['msg']}" + (f"; {hint}" if hint else "")


def _suggest_role(role: str, expected: str) -> str:
    """What to write instead of a role where pydantic expects `'user' or 'assistant'`."""
    roles = [each for each in ROLES if repr(each) in expected]
    own_role = _ROLES.get(_key(role))
    if own_role in roles:
        return f"write {own_role!r}"
    return did_you_mean(role, roles) or f"the roles are {', '.join(roles)}"


def _explain_part_type(part: Node) -> tuple[Position, str]:
    if "type" not in part.value:
        *others, last = (part_model.usage for part_model in PART_MODELS.values())
        return part.position, f"a part must be {', '.join(others)} or {last}"
    part_type = part.find(("type",))
    suggestion = did_you_mean(part_type.text, PART_MODELS) or f"the part types are {', '.join(PART_MODELS)}"
    return part_type.position, f"unknown part type: {part_type.describe()}; {suggestion}"


def _owner(location: tuple[str | int, ...], model: type[StrictModel]) -> type[StrictModel]:
    """The model of the mapping at a location of a model."""
    owner = model
    for step in location:
        field = owner.model_fields.get(str(step))
        if step in _INNER_MODELS:
            owner = _INNER_MODELS[str(step)]
        elif field is not None and isinstance(field.annotation, type) and issubclass(field.annotation, StrictModel):
            owner = field.annotation
    return owner


def _explain_unknown_key(key: str, owner: type[StrictModel]) -> str:
    """What to write instead of a key that a model lacks; `""` if nothing is known about it."""
    level = "part" if owner in PART_MODELS.values() else owner.level
    explanation = explain_foreign_key(level, key) if level is not None else ""
    known = {field.alias or name for name, field in owner.model_fields.items()}
    # A key of the other shape of a format is known, and refused all the same.
    return explanation or did_you_mean(key, known - {key})


def _key_path(location: tuple[str | int, ...]) -> str:
    """A location as messages show it, without tags of unions: `('tool_calls', 0, 'id')` is `'tool_calls[0].id'`."""
    path = ""
    for previous, step in pairwise(("", *location)):
        if isinstance(step, int):
            path += f"[{step}]"
        # Steps in angle brackets and types of parts are not in the file: they name the member of a union that was
        # tried. Behind the type of a part stands one of its keys, which may be called as a type is.
        elif previous in PART_MODELS or (step not in PART_MODELS and not step.startswith("<")):
            path += f".{step}"
    return repr(path.removeprefix("."))


def parse_definition_file(text: str, shown_path: str, key: str, model: type[BaseModel]) -> Any:
    """Parse and check the value of a key of an eval file that stands in a file of its own."""
    problems: Sequence[tuple[Position, str]]
    try:
        if shown_path.lower().endswith(".json"):
            # By its own rules: YAML reads a number such as `1e3` as text.
            data = parse_json(text, object_pairs_hook=unique_keys)
        else:
            data = parse_yaml(text).data()
        return getattr(model.model_validate({key: data}), key)
    except ValidationError as error:
        problems = _explain(error, key, text)
    except YamlError as error:
        problems = error.problems
    except json.JSONDecodeError as error:
        problems = [(Position(error.lineno, error.colno), f"not valid JSON: {error.msg}")]
    except ValueError as error:
        problems = [(Position(1, 1), f"not valid JSON: {error}")]
    raise EvalFileError(Diagnostic(shown_path, *position, text) for position, text in problems)


def _explain(error: ValidationError, key: str, text: str) -> Sequence[tuple[Position, str]]:
    try:
        # YAML does not indent with tabs, and a string of JSON holds none.
        document = parse_yaml(text.replace("\t", " "), allows_halves=True)
    except YamlError as yaml_error:
        # YAML refuses some of what JSON allows, such as a key of more than 1,024 characters.
        return yaml_error.problems
    wrapper = Node(document.mark, {key: Entry(document, document)})
    return list(explain_validation_error(error, wrapper))


def _key(word: str) -> str:
    """Normalize the spelling of a key: `maxTokens` and `max_tokens` are one word."""
    return re.sub(r"[^a-z0-9]", "", word.lower())


def _table(words: Mapping[str, str]) -> dict[str, str]:
    """What to write for each word: the keys of the argument are lists of words."""
    return {_key(word): text for keys, text in words.items() for word in keys.split()}


# The settings by the names that the vendors' APIs have for them.
_SETTINGS: Final = {_key(name): name for name in SETTING_NAMES} | _table(
    {
        "max_tokens max_completion_tokens max_new_tokens max_length": "max_output_tokens",
        "stop_sequences": "stop",
        "deployment model_name model_id": "model",
        "random_seed": "seed",
        "effort": "reasoning_effort",
        "extra": "extra_body",
    }
)
_BESIDE_SETTINGS: Final = _table(
    {
        "tools functions": "tools",
        "tool_choice function_call": "tool_choice",
        "response_format output_format output_schema response_schema json_schema": "response_format",
    }
)
# Where a setting, and an option beside the settings, belong: by the level at which they are written, and elsewhere.
_PLACES: Final[Mapping[Level, tuple[str, str]]] = {
    "file": (" under 'settings'", ""),
    "case": (" under 'settings'", ""),
    "settings": ("", " beside 'settings'"),
}
_ELSEWHERE: Final = (
    " under 'settings', of the case or of the file",
    " beside 'input_messages', or at the top of the file",
)
_OTHER_FORMAT: Final = (
    "promptfoo's files have 'prompts' or 'providers' beside it, and AgentV's an 'input' in each test; an eval file has "
    "its cases under 'evalcases', each with an 'id' and its 'input_messages'"
)
_CHECKS: Final = "write 'checks', a list of {type: TYPE, value: ...}"
_IN_THE_PROVIDER: Final = (
    "it is an argument of a provider; override the provider's fixture, such as openai_provider, to set it"
)
_SYSTEM_PROMPT: Final = "write 'metadata: {systemPrompt: ...}', or a message with the role system"
_ATTACHMENT: Final = "write a part {type: file, value: PATH} in the 'content' of a message"
_IMAGE: Final = "write a part {type: image, value: PATH} in the 'content' of a message"
_IN_A_CASE: Final = "it belongs in a case, under 'evalcases'"

_FILE_AND_CASE: Final = _table(
    {
        "providers models targets": "write 'provider', which may be a list",
        "assert asserts assertions scorer scorers scores metrics graders grader judge threshold": _CHECKS,
        "system system_prompt system_message instructions developer": _SYSTEM_PROMPT,
        "guidelines": "write 'guideline_patterns', a list of globs",
        "variables inputs": "write 'vars'",
        "rows data_set parameters params": "write 'parametrize'",
        "epochs trials num_trials repetitions num_repetitions samples_per_case": "write 'repeat'",
        "success_rate pass_threshold min_pass_rate required_pass_rate": "write 'pass_rate'",
        "markers marks labels": "write 'tags'",
        "skip disabled": "write 'tags: [skip]'",
        "only": "select the case on the command line: -k, or its node id",
        "files attachments input_files": _ATTACHMENT,
        "images image": _IMAGE,
        "config options generation_config model_config": "write 'settings'",
        "api_key base_url endpoint api_version timeout timeout_seconds max_retries retries": _IN_THE_PROVIDER,
    }
)
_LEVELS: Final[Mapping[Level, Mapping[str, str]]] = {
    "file": _FILE_AND_CASE
    | dict.fromkeys(map(_key, OTHER_FORMATS), _OTHER_FORMAT)
    | _table(
        {
            "cases eval_cases evals examples samples test_cases": "write 'evalcases'",
            "prompt prompts messages question": "write the messages of each case as its 'input_messages'",
            "default_test defaults": "write what all cases share at the top of the file, beside 'evalcases'",
            "id input_messages input expected_messages expected_output outcome role content": _IN_A_CASE,
            "name title": "write 'description'",
        }
    ),
    "case": _FILE_AND_CASE
    | _table(
        {
            "evalcases $schema": "it belongs at the top of the file",
            "prompt prompts messages question query conversation turns": "write 'input_messages'",
            "expected ideal reference reference_answer answer expected_answer golden output outputs": (
                "write 'expected_messages'"
            ),
            "criteria criterion rubric expected_behavior": "write 'outcome'",
            "name title case_id test_id": "write 'id'",
            "role content": "it belongs in a message of 'input_messages'",
        }
    ),
    "settings": _table(
        {
            "provider": "it belongs beside 'settings'",
            "system system_prompt": _SYSTEM_PROMPT,
            "api_key base_url endpoint api_version timeout timeout_seconds max_retries retries": _IN_THE_PROVIDER,
        }
    ),
    "message": _table(
        {
            "text value parts message body": "write 'content'",
            "from speaker author": "write 'role'",
            "function_call": "write 'tool_calls'",
            "call_id tool_use_id": "write 'tool_call_id'",
            "files attachments": _ATTACHMENT,
            "images image": _IMAGE,
            "type": "it belongs in a part, in the list 'content'",
        }
    ),
    "part": _table(
        {
            "text content data": "write 'value'",
            "path filename file_path src url": "write 'value'",
            "role": "it belongs in the message, beside 'content'",
        }
    ),
}


# The roles of LangChain, ShareGPT's datasets, Gemini, and OpenAI before it had tools.
_ROLES: Final = _table({"human": "user", "ai model bot gpt": "assistant", "function": "tool"})


def explain_foreign_key(level: Level, key: str) -> str:
    """Say what to write instead of a key that is unknown at a level; `""` if nothing is known about it."""
    return _LEVELS[level].get(_key(key)) or _explain_option(key, *_PLACES.get(level, _ELSEWHERE))


def explain_ineffective_setting(key: str, place: str) -> str:
    """Say where a setting belongs that stands where it has no effect; `""` for what does not look like a setting."""
    return _explain_option(key, " under 'settings'", f" beside {place!r}")


def _explain_option(key: str, place_of_settings: str, place_of_others: str) -> str:
    for names, place in ((_SETTINGS, place_of_settings), (_BESIDE_SETTINGS, place_of_others)):
        name = names.get(_key(key))
        if name is not None:
            return f"write {'it' if key == name else repr(name)}{place}"
    return ""
