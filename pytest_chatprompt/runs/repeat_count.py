"""How often an item is sent in a live or replayed run, and where its first answer is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.cases.case import DEFAULT_REPEAT, EvalCase
from pytest_chatprompt.options import options_key

if TYPE_CHECKING:
    from pytest_chatprompt.providers.response import ProviderResponse

# The properties of a repeated case in its report, without the prefix that all of them have.
RATE_PROPERTY: Final = "passed_answers"
INTERVAL_PROPERTY: Final = "pass_interval"
# What the fixture `eval_response` gives for a repeated case.
first_response_key: Final[pytest.StashKey[ProviderResponse]] = pytest.StashKey()


def repeat_of(config: pytest.Config, case: EvalCase) -> int:
    """How often a case is sent: the command line wins over what its author wrote.

    Args:
        config: the run's configuration.
        case: the case.
    """
    return config.stash[options_key].repeat or case.repeat or DEFAULT_REPEAT


def rate_of(properties: Mapping[str, Any]) -> tuple[int, int]:
    """How many answers of a repeated case passed, and of how many.

    Args:
        properties: its user properties, without their prefix.
    """
    passed, answers = properties[RATE_PROPERTY].split("/")
    return int(passed), int(answers)
