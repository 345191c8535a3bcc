"""The origin of a case that was made in code: the test that runs, in place of an eval file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from pytest_chatprompt.cases.case import EvalCase, Origin, YamlSource, case_diagnostic
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.yaml import Position

_NO_POSITION = Position(0, 0)


class CaseTest(NamedTuple):
    """The test in which a case is made, `""` if none runs, with the folder of its module and the root folder."""

    node_id: str
    folder: Path
    root: Path


class CodeOrigin(Origin):
    """The origin of a case that no file holds: it has no positions."""

    __slots__ = ()

    def position_of(self, *_: str | int) -> Position:
        """Return no position, since no file holds the case."""
        return _NO_POSITION

    def position_of_provider(self, _: str) -> None:
        """Return no position, since no file holds the case."""

    def position_of_option(self, *_: object) -> Position:
        """Return no position, since no file holds the case."""
        return _NO_POSITION

    def diagnostic(self, text: str, case_id: str, location: tuple[str | int, ...], position: Position) -> Diagnostic:
        """Report a problem by the name of the test, and the place in the case."""
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
        place = f"{steps.removeprefix('.')}: " if steps else ""
        return Diagnostic(self.shown_path, *position, f"{place}{text}", case_id=case_id)


def find_running_test() -> CaseTest:
    """The test that runs now, as pytest's variable `PYTEST_CURRENT_TEST` tells it.

    The folders are the working folder if no test runs, or its module is in no folder above.
    """
    # https://docs.pytest.org/en/stable/example/simple.html#pytest-current-test-environment-variable
    node_id = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    path = node_id.partition("::")[0]
    working_folder = Path.cwd()
    if path:
        for root in (working_folder, *working_folder.parents):
            if (root / path).is_file():
                return CaseTest(node_id, (root / path).parent, root)
    return CaseTest(node_id, working_folder, working_folder)


def case_in_test(case: EvalCase, test: CaseTest) -> EvalCase:
    """A copy of a case that has a test as its origin.

    Raises:
        EvalFileError: it has variables, rows, repeats or checks, which only eval files have.
    """
    if case.has_origin:
        return case
    copy = case.model_copy()
    module = Path(test.node_id.partition("::")[0]).name or "code"
    copy._origin = CodeOrigin(test.folder / module, test.node_id, 0, 0, YamlSource(""), 0)
    unused = [name for name in ("vars", "parametrize", "repeat", "pass_rate") if getattr(case, name) is not None]
    if unused:
        text = "has no effect in a case made in code; use f-strings, and parameters of pytest"
        raise EvalFileError(case_diagnostic(copy, text, name) for name in unused)
    if case.checks:
        text = "are not graded in a case made in code; assert on eval_response"
        raise EvalFileError([case_diagnostic(copy, text, "checks")])
    return copy
