"""The JSON Schema of eval files, as the package ships it; `make schema` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from pytest_chatprompt.apis.table import PROVIDERS
from pytest_chatprompt.cases.json_schema import make_json_schema
from pytest_chatprompt.cases.loader import EvalFileKeys
from pytest_chatprompt.grading.parsing import CHECKS
from pytest_chatprompt.options import SCHEMA_NAME

SCHEMA_FILE: Final = Path(__file__).with_name(SCHEMA_NAME)


def make_schema_text() -> str:
    """The text of the shipped file, as the code is now."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:pytest-chatprompt:eval-file",
        "title": "Eval file of pytest-chatprompt",
    }
    schema = make_json_schema(
        EvalFileKeys, {"provider": tuple(PROVIDERS), "check": (*CHECKS, *(f"not_{name}" for name in CHECKS))}
    )
    return json.dumps(head | schema, indent=2) + "\n"


def write_schema(file: Path = SCHEMA_FILE) -> None:
    """Write the text into a file, the same on every platform."""
    file.write_bytes(make_schema_text().encode())
