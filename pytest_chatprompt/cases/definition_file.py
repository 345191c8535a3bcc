"""Data files: the JSON and YAML files that an eval file names for `tools` or `response_format`."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ValidationError

from pytest_chatprompt.cases.diagnostics import explain_validation_error
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.json_data import parse_json
from pytest_chatprompt.text.yaml import Entry, Node, Position, YamlError, YamlProblem, parse_yaml


def parse_definition_file(text: str, shown_path: str, key: str, model: type[BaseModel]) -> Any:
    """Parse and check the value of a key of an eval file that stands in a file of its own."""
    parse = _parse_json if shown_path.lower().endswith(".json") else _parse_yaml
    try:
        data, problems = parse(text)
        if not problems:
            return getattr(model.model_validate({key: data}), key)
    except ValidationError as error:
        problems = _explain(error, key, text)
    except YamlError as error:
        problems = [error.problem]
    raise EvalFileError(Diagnostic(shown_path, *problem.position, problem.text) for problem in problems)


def _parse_yaml(text: str) -> tuple[Any, list[YamlProblem]]:
    document, problems = parse_yaml(text)
    return document.data(), problems


def _parse_json(text: str) -> tuple[Any, list[YamlProblem]]:
    """Parse JSON by its own rules: YAML reads a number such as `1e3` as text."""
    repeated: list[tuple[str, Any]] = []

    def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            repeated.extend(pairs)
        return mapping

    try:
        data = parse_json(text, object_pairs_hook=without_repetition)
    except json.JSONDecodeError as error:
        raise YamlError(Position(error.lineno, error.colno), f"not valid JSON: {error.msg}") from error
    except ValueError as error:
        raise YamlError(Position(1, 1), f"not valid JSON: {error}") from error
    return data, parse_yaml(_as_yaml(text))[1] if repeated else []


def _explain(error: ValidationError, key: str, text: str) -> list[YamlProblem]:
    try:
        document, _ = parse_yaml(_as_yaml(text))
    except YamlError as yaml_error:
        # YAML refuses some of what JSON allows, such as a key of more than 1,024 characters.
        return [yaml_error.problem]
    wrapper = Node(document.mark, {key: Entry(document, document)})
    return [YamlProblem(*problem) for problem in explain_validation_error(error, wrapper)]


def _as_yaml(text: str) -> str:
    # YAML does not indent with tabs, and a string of JSON holds none.
    return text.replace("\t", " ")
