"""The JSON Schema of reports, made of their records: `make schema` writes it into the package."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

from pytest_chatprompt.results import records

SCHEMA_FILE: Final = Path(records.__file__).with_name("report.schema.json")
_ARGUMENT: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def report_schema() -> dict[str, Any]:
    """The schema of what `--chatprompt-report` writes into a `.json` file."""
    schema = records.RunResults.model_json_schema()
    for model in (schema, *schema["$defs"].values()):
        _describe(model)
    # A run is written whole, a result without what is not set.
    schema["required"] = list(schema["properties"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


@cache
def report_validator() -> Draft202012Validator:
    """What says whether data is such a file."""
    return Draft202012Validator(report_schema())


def write_schema(file: Path = SCHEMA_FILE) -> None:
    """Write the schema into a file, the same on every platform."""
    file.write_bytes((json.dumps(report_schema(), indent=1, ensure_ascii=False) + "\n").encode())


def _describe(model: dict[str, Any]) -> None:
    """Give each property what the docstring of the model says of it."""
    whole = model.pop("description", "")
    summary, _, arguments = whole.partition("\n\nArgs:\n")
    model["description"] = summary
    for name, text in _ARGUMENT.findall(arguments):
        model["properties"][name]["description"] = " ".join(text.split()).replace("`None`", "`null`")
    for value in model["properties"].values():
        value.pop("title", None)
        if "const" in value:
            # Pydantic before 2.10 writes both.
            value.pop("enum", None)
