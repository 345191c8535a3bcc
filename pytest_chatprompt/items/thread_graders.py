"""Thread graders: the checks, fixtures and hooks of a project that look at answers in the threads of a live run.

An eval item comes in; what calls its graders comes out, or `None` if all of them have to wait for pytest. `live_run`
owns the `ThreadGraders`; `prefetch_planner` and `case_runner` ask, and the threads that send call what they get.
`graded_ahead` delivers the outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.capture.live_capture import uncaptured
from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.errors import ProviderError
from pytest_chatprompt.grading.plain_function import THREAD_UNSAFE, is_plain
from pytest_chatprompt.items.early_fixtures import CASE_FIXTURE, REQUEST_FIXTURE
from pytest_chatprompt.items.item import RESPONSE_FIXTURE, EvalItem
from pytest_chatprompt.items.prefetch_rules import PrefetchRules, find_fixture
from pytest_chatprompt.items.recordings import raise_if_unusable
from pytest_chatprompt.items.repeat_count import repeat_of
from pytest_chatprompt.live.early_grades import EarlyGrades, GradeAnswer, GraderOutcome, RunJobs
from pytest_chatprompt.live.thread_output import OutputKeeper
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.response import ProviderResponse

if TYPE_CHECKING:
    from pytest_chatprompt.grading.grade import GradedCheck
    from pytest_chatprompt.grading.parsing import CaseCheck

# What a fixture may ask for, so that it is a function of the case and the answer.
_ARGUMENTS: Final = frozenset({CASE_FIXTURE, REQUEST_FIXTURE, RESPONSE_FIXTURE})

Hook = Callable[..., object]


@dataclass(frozen=True, slots=True)
class _ItemGraders:
    """The graders of one item that may run in threads.

    Args:
        config: the run's configuration.
        reader: the run's reader of attached files.
        keeper: keeps what they put out.
        has_checks: whether some of its checks may be among them.
        fixtures: the definitions of such fixtures, in their order, up to the first other one.
        hook: calls the hook; `None` if it has to wait.
        is_hook_next: whether no other fixture comes before the hook.
    """

    config: pytest.Config
    reader: FileReader
    keeper: OutputKeeper
    has_checks: bool
    fixtures: tuple[Any, ...]
    hook: Hook | None
    is_hook_next: bool

    def grade(
        self, case: EvalCase, request: ProviderRequest, response: ProviderResponse, run: RunJobs
    ) -> EarlyGrades | None:
        """Let them look at an answer: the checks beside each other, the others in their order, as pytest has it.

        Returns:
            What they did; `None` without an answer to look at, or if the run was stopped meanwhile.
        """
        cancellation = current_context().cancellation
        if not response.is_awaited or (cancellation is not None and cancellation.cancelled.is_set()):
            return None
        try:
            raise_if_unusable(response)
        except ProviderError:
            return None
        checks = self._checks(case)
        sequence = partial(self._in_sequence, case, request, response)
        jobs = [partial(self._call, partial(_grade_check, check, case, response)) for check in checks.values()]
        *graded, (fixtures, hook) = run([*jobs, sequence])
        outcomes = dict(zip(checks, graded, strict=True))
        return EarlyGrades(case, request, response, outcomes, fixtures, hook)

    def _checks(self, case: EvalCase) -> dict[int, CaseCheck]:
        """The checks that may call code of the project, by their place among those of the answer."""
        if not self.has_checks:
            return {}
        # Most files have no such checks.
        from pytest_chatprompt.grading.parsing import is_project_check, parse_checks  # noqa: PLC0415

        checks = [check for check in parse_checks(case, self.reader) if check.of == "answer"]
        return {place: check for place, check in enumerate(checks) if is_project_check(type(check.check))}

    def _in_sequence(
        self, case: EvalCase, request: ProviderRequest, response: ProviderResponse
    ) -> tuple[dict[Any, GraderOutcome], GraderOutcome | None]:
        """Call the fixtures and then the hook, which does not come to its turn if a fixture fails."""
        fixtures: dict[Any, GraderOutcome] = {}
        # The fixtures of a repeated case look at its first answer only, when all are there.
        is_repeated = repeat_of(self.config, case) > 1
        if not is_repeated:
            values = {CASE_FIXTURE: case, REQUEST_FIXTURE: request, RESPONSE_FIXTURE: response}
            for definition in self.fixtures:
                arguments = {name: values[name] for name in definition.argnames}
                fixtures[definition] = outcome = self._call(partial(definition.func, **arguments))
                if outcome.error is not None:
                    return fixtures, None
        if self.hook is None or not (is_repeated or self.is_hook_next):
            return fixtures, None
        return fixtures, self._call(partial(self.hook, case=case, request=request, response=response))

    def _call(self, function: Callable[[], Any]) -> GraderOutcome:
        with self.keeper.keep() as output, uncaptured():
            try:
                return GraderOutcome(function(), None, output)
            except BaseException as error:  # such as pytest.skip
                return GraderOutcome(None, error, output)


def _grade_check(check: CaseCheck, case: EvalCase, response: ProviderResponse) -> GradedCheck | None:
    """Grade a check; `None` if it has to wait."""
    from pytest_chatprompt.grading.grade import grade  # noqa: PLC0415
    from pytest_chatprompt.grading.parsing import may_run_in_thread  # noqa: PLC0415

    return grade(check, case, response) if may_run_in_thread(check.check) else None


class ThreadGraders:
    """Finds the graders of items that may run in threads.

    Args:
        config: the run's configuration.
        concurrency: how many requests may be in flight at once; with one, nothing runs beside the tests.
        reader: the run's reader of attached files.
        rules: know the time limits of items.
    """

    def __init__(self, config: pytest.Config, concurrency: int, reader: FileReader, rules: PrefetchRules) -> None:
        self._config = config
        self._is_off = concurrency == 1 or _shows_at_once(config)
        self._reader = reader
        self._rules = rules
        self._keeper = OutputKeeper()
        # Whether a type calls code of the project, by its name as written.
        self._types: dict[str, bool] = {}

    def note_streams(self) -> None:
        """Note the streams that print to the terminal now, or to what pytest captures."""
        if not self._is_off:
            self._keeper.note_streams()

    def of(self, item: EvalItem) -> GradeAnswer | None:
        """What calls the graders of an item in a thread; `None` if there are none."""
        if self._is_off:
            return None
        definitions = [find_fixture(item, name) for name in item.response_fixtures]
        first_other = next((place for place, each in enumerate(definitions) if not _is_plain_fixture(each)), None)
        hook = _plain_hook(item)
        has_checks = self._has_project_checks(item)
        if not has_checks and hook is None and (not definitions or first_other == 0):
            # Most items have none. To look at the marks of an item takes longer.
            return None
        if item.get_closest_marker(THREAD_UNSAFE) or self._rules.has_timeout(item):
            return None
        self.note_streams()
        return _ItemGraders(
            self._config,
            self._reader,
            self._keeper,
            has_checks,
            tuple(definitions[:first_other]),
            hook,
            is_hook_next=first_other is None,
        ).grade

    def _has_project_checks(self, item: EvalItem) -> bool:
        case: Any = item.case
        case = getattr(case, "case", case)
        return any(self._is_project_check(check.type) for check in getattr(case, "checks", ()))

    def _is_project_check(self, written: str) -> bool:
        if written not in self._types:
            # Most files have no checks.
            from pytest_chatprompt.grading.parsing import (  # noqa: PLC0415
                UnknownTypeError,
                find_type,
                is_project_check,
            )

            try:
                self._types[written] = is_project_check(find_type(written)[0])
            except UnknownTypeError:
                # The case reports it when it runs.
                self._types[written] = False
        return self._types[written]


def _shows_at_once(config: pytest.Config) -> bool:
    """Whether what tests print is shown at once, or a debugger may ask for input: both belong to the running test."""
    captures = config.getoption("capture", "no") not in ("no", "tee-sys")
    return not captures or bool(config.getoption("usepdb", False) or config.getoption("trace", False))


def _is_plain_fixture(definition: Any) -> bool:
    """Whether a fixture is a plain function of the case and the answer."""
    is_function = is_plain(definition.func) and definition.scope == "function" and definition.params is None
    return is_function and _ARGUMENTS.issuperset(definition.argnames)


def _plain_hook(item: EvalItem) -> Hook | None:
    """The hook that looks at the answers of an item; `None` if there is none, or one that is no plain function."""
    hook: Any = item.ihook.pytest_chatprompt_response
    implementations = hook.get_hookimpls()
    is_simple = all(is_plain(each.function) and not each.wrapper and not each.hookwrapper for each in implementations)
    return hook if implementations and is_simple else None
