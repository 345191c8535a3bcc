"""JSON Schema, by the package `jsonschema`, which is imported once a check has a schema.

In: a schema, and JSON data. Out: whether the schema is valid, and where the data does not fit it.
No schema is ever fetched: `$ref` leads to places in the schema itself, or to those of the standard.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pytest_chatprompt.grading.time_limit import limited_time
from pytest_chatprompt.text.json_data import check_json, error_at, invalid, thaw

_MOST_SHOWN = 200


def check_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a valid JSON Schema; without `$schema` it is one of draft 2020-12.

    Raises:
        ValidationError: it is not valid, with the place.
    """
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    check_json(schema)
    try:
        _validator(json.dumps(thaw(schema)))
    except SchemaError as error:
        raise error_at(tuple(error.path), invalid(f"not a valid JSON Schema: {_short(error.message)}")) from error
    return schema


def find_misfit(data: Any, schema: Mapping[str, Any]) -> str:
    """The first place of data that does not fit a schema, and why: `$.city: 3 is not of type 'string'`; `""` for none.

    Args:
        data: JSON data.
        schema: a schema that `check_schema` has accepted.

    Raises:
        CheckError: its patterns take too long.
    """
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    with limited_time("the JSON Schema"):
        error = best_match(_validator(json.dumps(thaw(schema))).iter_errors(thaw(data)))
    return "" if error is None else f"{error.json_path}: {_short(error.message)}"


# The checks of a file are those of all of its cases.
@lru_cache(maxsize=256)
def _validator(schema_text: str) -> Any:
    from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    schema = json.loads(schema_text)
    validator_class: Any = validator_for(schema, default=Draft202012Validator)
    validator_class.check_schema(schema, format_checker=validator_class.FORMAT_CHECKER)
    # With a registry of one's own nothing is fetched.
    return validator_class(schema, registry=Registry())


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
