"""The JSON Schema of the report of a run, made of its models.

Nothing comes in; the schema comes out, as data and as the text of `report.schema.json`, which stands beside this module
for programs that read reports. `make schema` writes it; a test keeps it equal.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.results.run_results import RunResults

SCHEMA_FILE: Final = Path(__file__).with_name("report.schema.json")
_ARGUMENT: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def report_schema() -> dict[str, Any]:
    """The schema of what `--chatprompt-report` writes into a `.json` file.

    Returns:
        JSON data, by draft 2020-12. What a docstring says of a field is its description.
    """
    schema = RunResults.model_json_schema()
    for model in (schema, *schema["$defs"].values()):
        _describe(model)
    # A run is written whole, a result without what is not set.
    schema["required"] = list(schema["properties"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schema_text() -> str:
    """The schema as the file holds it."""
    return json.dumps(report_schema(), indent=1, ensure_ascii=False) + "\n"


def write_schema(file: Path = SCHEMA_FILE) -> None:
    """Write the text into a file, the same on every platform."""
    file.write_bytes(schema_text().encode())


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
