"""JSON data: how deep it may be nested."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pytest_chatprompt.text.json_data import check_json


def nested(levels: int) -> object:
    value: object = "text"
    for _ in range(levels):
        value = [value]
    return value


def test_data_may_be_nested_100_levels_deep() -> None:
    assert check_json(nested(100)) == nested(100)


def test_data_that_is_nested_deeper_is_an_error_at_the_first_value_too_deep() -> None:
    with pytest.raises(ValidationError) as caught:
        check_json(nested(103))
    (error,) = caught.value.errors()
    assert (error["msg"], error["loc"]) == ("nested more than 100 levels deep", (0,) * 101)
