"""`is_json`: whether the text of an answer is JSON, and fits a JSON Schema if there is one.

In: a schema, or the path of a file with one. Out: a verdict with the first place that does not fit.
With `of: request` the body of the request is what has to fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NoReturn, Self

from pydantic import BaseModel, ConfigDict, PlainValidator

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.fields import check_data_path
from pytest_chatprompt.grading.check import Check, DataReader, Verdict
from pytest_chatprompt.grading.json_schema import check_schema, find_misfit
from pytest_chatprompt.grading.sent_data import SentData
from pytest_chatprompt.grading.text_checks import HasText
from pytest_chatprompt.text.json_data import unexpected


def _read_schema(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise unexpected("a JSON Schema, as a mapping")
    return check_schema(value)


def _read_schema_or_path(value: Any) -> str | Mapping[str, Any] | None:
    if isinstance(value, str):
        return check_data_path(value, "a JSON Schema")
    return None if value is None else _read_schema(value)


class _SchemaFile(BaseModel):
    model_config = ConfigDict(defer_build=True)

    value: Annotated[Mapping[str, Any], PlainValidator(_read_schema)]


class IsJson(Check):
    """Passes where the text is JSON, and fits the schema in `value`."""

    can_grade_request: ClassVar[bool] = True

    value: Annotated[str | Mapping[str, Any] | None, PlainValidator(_read_schema_or_path)] = None

    def read_files(self, read: DataReader) -> Self:
        """See `Check.read_files`."""
        if not isinstance(self.value, str):
            return self
        return self.model_copy(update={"value": read(self.value, "value", _SchemaFile)})

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        if isinstance(response, SentData):
            data = response.data
        else:
            try:
                data = json.loads(response.text, parse_constant=_refuse_constant)
            except (ValueError, RecursionError) as error:
                hint = " around it is a code fence" if response.text.lstrip().startswith("```") else f" {error}"
                return Verdict(False, f"is not JSON:{hint}")
        if self.value is None:
            return Verdict(True, "is JSON")
        assert isinstance(self.value, Mapping), "read_files has read it"  # noqa: S101
        misfit = find_misfit(data, self.value)
        if misfit:
            return Verdict(False, f"does not fit the schema at {misfit}")
        return Verdict(True, "is JSON that fits the schema")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")
