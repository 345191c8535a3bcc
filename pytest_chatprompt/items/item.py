"""The eval item: one case that is sent through one provider, as a function item of pytest.

`file` makes the items. An item knows the files of its snapshot and its recording, and the position in the eval file
that an error or a warning is about.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.errors import Diagnostic, EvalFileError, PayloadError, PayloadWarning, UnknownProviderError
from pytest_chatprompt.evalfile.case import EvalCase
from pytest_chatprompt.evalfile.loader import InvalidCase, LoadedCase
from pytest_chatprompt.evalfile.yaml_tree import Position
from pytest_chatprompt.items.failures import OWN_ERRORS, first_line, text_failure
from pytest_chatprompt.items.own_fixtures import OwnFixtures, reserve, set_up, tear_down
from pytest_chatprompt.items.running_imports import import_what_running_needs
from pytest_chatprompt.wording import shown_path, visible_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chatprompt.grading.grade import GradedCheck

RESPONSE_FIXTURE: Final = "eval_response"
MASKS_FIXTURE: Final = "eval_masks"
# What to report of the checks of an item that failed for another reason as well.
failed_checks_key: Final[pytest.StashKey[str]] = pytest.StashKey()
# The case that was graded, and what its checks said so far.
graded_checks_key: Final[pytest.StashKey[tuple[EvalCase, list[GradedCheck]]]] = pytest.StashKey()
# What a test used of its snapshots and recordings; its last report has it, for whichever process needs it.
_uses_key: Final[pytest.StashKey[dict[str, Any]]] = pytest.StashKey()


def note_use(item: pytest.Item, kind: str, path: str, content: list[Any]) -> None:
    """Note that a test uses a snapshot or a recording.

    Args:
        item: the test.
        kind: `asserted`, `sent` or `replayed`.
        path: of the file.
        content: what of it: nothing, hashes of requests, or the number and the hash of each replayed request.
    """
    item.stash.setdefault(_uses_key, {}).setdefault(kind, {})[path] = content


def add_uses(item: pytest.Item, report: pytest.TestReport) -> None:
    """Put what a test used into its last report, which may be made in another process than the one that reads it."""
    if report.when == "teardown" and _uses_key in item.stash:
        # A worker of pytest-xdist and a child of pytest-forked send the attributes of reports.
        vars(report)["chatprompt_uses"] = item.stash[_uses_key]


def has_graded_checks(item: pytest.Item) -> bool:
    """Whether checks of an item were graded, since it began to run."""
    return bool(item.stash.get(graded_checks_key, (None, ()))[1])


class EvalItem(pytest.Function):
    """One case that is sent through one provider.

    Attributes:
        case: the case, its template, or what is wrong with it.
        provider_name: the name by which the provider was asked for.
        label: what stands in the bracket of its snapshot's name: the provider, then the parameters.
        response_fixtures: the project's own fixtures that use the response; they are set up once there is one.
        own_fixtures: the definitions of the fixtures that need no set-up by pytest.
        awaits_answer: whether its test has passed, and its answer is to be graded.
        finish: grades its answer, in place of its test function; `None` but for then.
        snapshot_folder: the folder of its snapshot and its recording.
        snapshot_stem: the file name of its snapshot, without extension.
    """

    snapshot_stem: str
    awaits_answer = False
    finish: Callable[[], None] | None = None

    def __init__(  # noqa: PLR0913 - what `file` knows of an item
        self,
        *,
        case: LoadedCase,
        provider_name: str,
        label: str,
        response_fixtures: tuple[str, ...],
        own_fixtures: OwnFixtures,
        snapshot_folder: Path,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.response_fixtures = response_fixtures
        self.own_fixtures = own_fixtures
        later = {*response_fixtures, RESPONSE_FIXTURE} if response_fixtures else ()
        # A list of its own: the items of a folder share pytest's, and a hook may add a fixture to one of them.
        self.fixturenames = [name for name in self.fixturenames if name not in later]
        self.case = case
        self.provider_name = provider_name
        self.label = label
        self.snapshot_folder = snapshot_folder

    def setup(self) -> None:
        """Set up the fixtures."""
        __tracebackhide__ = True
        import_what_running_needs()
        reserve(self.own_fixtures, self)
        super().setup()
        set_up(self.own_fixtures, self.funcargs)

    def runtest(self) -> None:
        """Run the case, or grade its answer."""
        __tracebackhide__ = True
        if self.finish is None:
            super().runtest()
        else:
            self.finish()

    def teardown(self) -> None:
        """End the own fixtures, after pytest has ended all others."""
        tear_down(self.own_fixtures)
        super().teardown()

    @property
    def line(self) -> int:
        """The 1-based line on which the case begins."""
        return self.case.line

    @property
    def snapshot_path(self) -> Path:
        """The file of its snapshot; need not exist."""
        return self.snapshot_folder / f"{self.snapshot_stem}.yaml"

    def valid_case(self) -> EvalCase:
        """The case, with its variables filled in.

        Raises:
            EvalFileError: the case is invalid.
        """
        if isinstance(self.case, InvalidCase):
            raise self.case.error
        return self.case if isinstance(self.case, EvalCase) else self.case.render()

    def warn(self, warning: Warning) -> None:
        """Issue a warning at the line of the message or option that it is about, else at that of the case."""
        position = self._position_of(warning)
        warnings.warn_explicit(
            warning, category=None, filename=str(self.path), lineno=position.line if position else self.line
        )

    def with_position(self, error: Exception) -> str:
        """An error's text, prefixed with its position in the eval file: that of the message, or else of the case."""
        if isinstance(error, EvalFileError):
            return str(error)
        position = self._position_of(error)
        if position is None or isinstance(self.case, InvalidCase):
            # A fixture of the project went on although the case is invalid.
            return f"{self.nodeid}: {error}"
        path = self.case.origin.shown_path
        return str(Diagnostic(path, position.line, position.column, str(error), case_id=self.case.full_id))

    def line_of(self, error: Exception) -> int:
        """The 1-based line of the eval file that an error is about, else that of the case."""
        if isinstance(error, EvalFileError):
            first = error.diagnostics[0]
            # A row or an attached file has lines of its own.
            return first.line if first.path == shown_path(self.path, self.config.rootpath) else self.line
        position = self._position_of(error)
        return self.line if position is None else position.line

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """Show an error of this package by its text at the position of the case; others as pytest does."""
        error = excinfo.value
        if not isinstance(error, OWN_ERRORS) or self.config.getoption("fulltrace", False):
            return super().repr_failure(excinfo, *args, **kwargs)
        representation: Any = super().repr_failure(text_failure(self.with_position(error)))
        # The position in the eval file, not of the `raise`: `--tb=line` and reports show it.
        crash = representation.reprcrash
        crash.path, crash.lineno = visible_line(str(self.path)), self.line_of(error)
        crash.message = first_line(error)
        return representation

    def _position_of(self, error: Exception) -> Position | None:
        """The position of what an error or a warning is about, else of the case; `None` if the case is invalid."""
        if isinstance(self.case, InvalidCase):
            return None
        origin = self.case.origin
        if isinstance(error, UnknownProviderError):
            return origin.position_of_provider(self.provider_name) or origin.position
        location = error.location if isinstance(error, PayloadError | PayloadWarning) else ()
        if location:
            return origin.position_of_option(location, self.provider_name)
        number = error.message_number if isinstance(error, PayloadError | PayloadWarning) else None
        return origin.position if number is None else origin.position_of("input_messages", number - 1)

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """Where pytest shows that it is; a path that would change the line is as in its node id."""
        path, line, name = super().location
        return (path if visible_line(path) == path else self.nodeid.partition("::")[0]), line, name

    def reportinfo(self) -> tuple[Path, int, str]:
        """The position of the case, for reports: the file, its 0-based line, the name."""
        return self.path, self.line - 1, self.name
