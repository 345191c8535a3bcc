"""The JSON Schema of eval files in tests: what it says about a file, by the widely used validator."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError

from tests.eval_schema_generator import SCHEMA_FILE

SCHEMA: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
_VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


class _Constructor(SafeConstructor):
    """Builds data as editors see it: a date is text, since JSON has none."""


_Constructor.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def read_as_editors_do(text: str) -> Any:
    """The data of a text in YAML 1.2, which is what the language servers of editors read: there `no` is text."""
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = _Constructor
    return _with_text_as_keys(reader.load(text))


def _with_text_as_keys(data: Any) -> Any:
    # JSON has no other keys.
    if isinstance(data, dict):
        return {str(key): _with_text_as_keys(value) for key, value in data.items()}
    return [_with_text_as_keys(item) for item in data] if isinstance(data, list) else data


def schema_problems(data: Any) -> list[str]:
    """What the schema finds wrong with the data of an eval file; empty for nothing."""
    return [f"{problem.json_path}: {problem.message}" for problem in _VALIDATOR.iter_errors(data)]


def editor_problems(text: str) -> list[str]:
    """What an editor finds wrong with the text of an eval file; empty for nothing."""
    try:
        return schema_problems(read_as_editors_do(text))
    except YAMLError as error:
        return [str(error)]
