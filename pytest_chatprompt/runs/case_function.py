"""The test function that every eval item runs.

Its arguments are the fixtures that users override: pytest reads them from the signature. The work is in `case_runner`,
which the first case that runs imports; collecting needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest
    from syrupy.assertion import SnapshotAssertion

    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import Provider


def run_case(  # noqa: PLR0913, PLR0917 - the fixtures that it asks for
    request: pytest.FixtureRequest,
    eval_case: EvalCase,
    eval_request: ProviderRequest,
    eval_provider: Provider,
    eval_api: EvalAPI,
    eval_snapshot: SnapshotAssertion,
) -> None:
    """Compare what the case sends with its snapshot; in live and replayed runs, get the response and check it."""
    __tracebackhide__ = True
    from pytest_chatprompt.runs.case_runner import CaseRunner  # noqa: PLC0415

    CaseRunner(request, eval_case, eval_request, eval_provider, eval_api, eval_snapshot).run()
