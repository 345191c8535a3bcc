"""A check as authors write it, for the JSON Schema of eval files; what a run reads of it is an `EvalCheck`.

Nothing comes in or goes out. Only `shared_keys` imports it, when `json_schema` asks.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict

from pytest_chatprompt.evalfile.schema_annotations import KnownNames
from pytest_chatprompt.evalfile.strict_model import NonEmptyString


class WrittenCheck(BaseModel):
    """A check of the answer, or of what is sent: `{type: TYPE, value: ...}`; for the JSON Schema.

    Attributes:
        type: what it looks at; `not_` before it makes it the opposite.
    """

    # Nothing is validated by it.
    model_config = ConfigDict(defer_build=True)

    type: Annotated[NonEmptyString, KnownNames("check")]
