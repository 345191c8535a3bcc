"""The hooks that this plugin calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chatprompt.case import EvalCase
    from pytest_chatprompt.requests import ProviderRequest, ProviderResponse


def pytest_chatprompt_response(case: EvalCase, request: ProviderRequest, response: ProviderResponse) -> None:
    """Look at an answer; an `assert` that does not hold fails the case.

    Called once for each case that a live or a replayed run has an answer for, never offline.

    Args:
        case: the case, its `expected_messages` among the rest.
        request: what was sent.
        response: the answer.
    """
