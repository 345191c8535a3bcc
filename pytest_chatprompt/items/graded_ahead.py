"""Graded ahead: deliver what graders said in threads, where pytest would have called them.

A case with its answer comes in, and what its graders said about that in a thread, if they ran there. What did not run
is called now. `case_runner`, `case_checks` and `repeated_case` call these functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_chatprompt.items.case_response import get_live_response
from pytest_chatprompt.items.live_plugin import find_live_run

if TYPE_CHECKING:
    import pytest

    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.grading.grade import GradedCheck
    from pytest_chatprompt.grading.parsing import CaseCheck
    from pytest_chatprompt.items.item import EvalItem
    from pytest_chatprompt.live.early_grades import EarlyGrades
    from pytest_chatprompt.live.prefetch import LiveResponse
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import ProviderResponse


def grades_of_case(
    item: EvalItem, case: EvalCase, request: ProviderRequest, response: ProviderResponse
) -> EarlyGrades | None:
    """What graders said about the answer to a case in a thread; `None` if all of them have to be called now.

    Args:
        item: the item that runs.
        case: the fixture `eval_case`.
        request: the fixture `eval_request`.
        response: the fixture `eval_response`.

    Raises:
        RequestCancelledError: the run was stopped.
    """
    __tracebackhide__ = True
    live = get_live_response(item)
    if live is None or live.response is not response:
        # The project overrides eval_response.
        return None
    return grades_of_answer(item, case, request, live)


def grades_of_answer(
    item: EvalItem, case: EvalCase, request: ProviderRequest, live: LiveResponse
) -> EarlyGrades | None:
    """What graders said about one answer in a thread; the arguments and the errors are those of `grades_of_case`."""
    __tracebackhide__ = True
    if live.grades is None:
        return None
    # Only a live run has threads.
    live_run: Any = find_live_run(item.config)
    grades: EarlyGrades | None = live_run.wait_for_grades(live.grades)
    return grades if grades is not None and grades.case == case and grades.request == request else None


def graded_ahead(grades: EarlyGrades, place: int, check: CaseCheck) -> GradedCheck | None:
    """What a check said in a thread; `None` if it has to be graded now.

    Args:
        grades: what the graders said.
        place: of the check, among those of the answer.
        check: the check.

    Raises:
        BaseException: the check has ended the test, as `pytest.skip` does.
    """
    outcome = grades.checks.get(place)
    if outcome is None:
        return None
    try:
        graded: GradedCheck | None = outcome.deliver()
    except Warning as error:
        # Most cases have no checks, and these import all types.
        from pytest_chatprompt.grading.grade import GradedCheck, describe_crash  # noqa: PLC0415

        # A warning of the check is an error for this test.
        return GradedCheck(check, grades.response, None, f"crashed with {describe_crash(error)}")
    return graded


def set_up_fixtures(request: pytest.FixtureRequest, grades: EarlyGrades | None) -> None:
    """Set up the fixtures of an item that use its response, with the values that they have returned in a thread.

    Args:
        request: the item's fixture request.
        grades: what they said there; `None` for nothing.
    """
    __tracebackhide__ = True
    item: EvalItem = request.node
    if grades is not None and grades.fixtures:
        live_run: Any = find_live_run(item.config)
        live_run.keep_outcomes(item, grades)
    for name in item.response_fixtures:
        request.getfixturevalue(name)


def call_hook(
    item: EvalItem, case: EvalCase, request: ProviderRequest, response: ProviderResponse, grades: EarlyGrades | None
) -> None:
    """Call the hook of an item for an answer, or raise what it has raised in a thread.

    Args:
        item: the item that runs.
        case: the fixture `eval_case`.
        request: the fixture `eval_request`.
        response: the answer.
        grades: what the graders said in a thread; `None` for nothing.
    """
    __tracebackhide__ = True
    if grades is not None and grades.hook is not None:
        grades.hook.deliver()
    else:
        item.ihook.pytest_chatprompt_response(case=case, request=request, response=response)
