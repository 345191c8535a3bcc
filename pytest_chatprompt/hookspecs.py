"""The hooks that this plugin calls, for your `conftest.py` to implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import ProviderResponse


def pytest_chatprompt_response(case: EvalCase, request: ProviderRequest, response: ProviderResponse) -> None:
    """Check a response: an `assert` that fails here fails the case.

    Called once for each response of a live or replayed run; never offline. A case with `repeat` has several, and a
    failure counts for its answer then.

    Args:
        case: the case, with its `expected_messages`.
        request: what was sent.
        response: what the model answered.
    """
