"""The eval item: one case that is sent through one provider, as a function item of pytest."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.cases.loader import LoadedCase
from pytest_chatprompt.errors import (
    APIConnectionError,
    APIStatusError,
    BadRequestError,
    BudgetError,
    ChatPromptError,
    CheckError,
    ContentFilterError,
    Diagnostic,
    EvalFileError,
    EvalFileWarning,
    MissingSettingError,
    PayloadError,
    PayloadWarning,
    ReplayError,
    SnapshotError,
    UnknownProviderError,
)
from pytest_chatprompt.options import MOVES_PREFIX, options_key
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.text.yaml import Position
from pytest_chatprompt.wording import shown_path, visible, visible_line

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
    from pytest_chatprompt.grading.judge import JudgeVote
    from pytest_chatprompt.live.answers import CaseAnswers, LiveResponse
    from pytest_chatprompt.prompt.conversion import SentFiles
    from pytest_chatprompt.providers.response import Finding, ProviderResponse
    from pytest_chatprompt.results.records import RepeatsResult, VersionsResult
    from pytest_chatprompt.snapshots.diff import Comparison

# pytest shows no frame of this module.
__tracebackhide__ = True


PACKAGE_ERRORS: Final = (ChatPromptError, EvalFileWarning, PayloadWarning)
# By these a test ends before its end, and has not failed.
ENDED_EARLY: Final = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)


def text_failure(text: str) -> pytest.ExceptionInfo[BaseException]:
    """A failure that pytest shows as this text only, which may hold what others wrote."""
    # If all frames are hidden, pytest says so below the text.
    __tracebackhide__ = False
    with pytest.raises(pytest.fail.Exception) as failure:
        pytest.fail(visible(text), pytrace=False)
    # A failed subtest is reported while its error is handled, and pytest would show that too.
    failure.value.__context__ = None
    return failure


def first_line(error: BaseException) -> str:
    """An error in one line, for pytest's short summary."""
    text = error.diagnostics[0].text if isinstance(error, EvalFileError) else str(error)
    return visible_line(text.partition("\n")[0])


def is_outage(error: BaseException) -> bool:
    """Whether an error says nothing about the answer: an API, a key, a reply, a verdict or a valid check is missing."""
    outages = (
        APIStatusError,
        APIConnectionError,
        BudgetError,
        MissingSettingError,
        ReplayError,
        CheckError,
        EvalFileError,
    )
    return isinstance(error, outages) and not isinstance(error, BadRequestError | ContentFilterError)


# The parameter that stands first in a node id: the provider of a case that has several, and the row.
ITEM_PARAMETER: Final = "_eval_item"
RESPONSE_FIXTURE: Final = "eval_response"
# What every item uses and few projects override, in an order in which none needs a later one; and syrupy's, of which
# `eval_snapshot` needs only the first of a folder.
_FIXTURES: Final = ("eval_case", "eval_masks", "eval_request", "eval_provider", "eval_api", "eval_snapshot")
_SYRUPYS: Final = "snapshot"
# What a test used of its snapshots and recordings; its last report has it, for whichever process needs it.
_uses_key: Final[pytest.StashKey[dict[str, Any]]] = pytest.StashKey()


def note_use(item: pytest.Item, kind: str, path: str, content: list[Any]) -> None:
    """Note that a test uses a file: `asserted`, `sent` with the hashes of its requests, or `replayed` with them too."""
    item.stash.setdefault(_uses_key, {}).setdefault(kind, {})[path] = content


def add_uses(item: pytest.Item, report: pytest.TestReport) -> None:
    """Put what a test used into its last report, which may be made in another process than the one that reads it."""
    if report.when == "teardown" and _uses_key in item.stash:
        # A worker of pytest-xdist and a child of pytest-forked send the attributes of reports.
        vars(report)["chatprompt_uses"] = item.stash[_uses_key]


def prefix_findings(item: pytest.Item, sent: Sequence[SentRequest]) -> tuple[Finding, ...]:
    """What is found in the requests of a test if each should begin with all of the one before."""
    if not item.config.stash[options_key].cache_prefix or item.get_closest_marker(MOVES_PREFIX) is not None:
        return ()
    from pytest_chatprompt.capture.prompt_size import find_moved_prefix  # noqa: PLC0415 - few projects ask for it

    return find_moved_prefix(sent)


class Notes:
    """What is known of a test while it runs.

    Attributes:
        differing: the comparison with its snapshot, by the path, if that differs.
        renamed_from: the id that the case had, if it was renamed.
        data: what its snapshot shows of that.
        files: those that stand as text in what it sends.
        asserted: the place of the first snapshot of an ordinary test, and what it would show now; `None` unless the run
            compares that with another version.
        checks: the `CaseChecks` of a case that has any.
        repeats: the answers of a case that is sent several times.
        versions: those to both versions of its request, in a run that compares two.
        failed_checks: what to report of them if it fails for another reason as well.
        not_sent_ahead: why it was sent only when it ran; `None` if there is nothing to say.
    """

    def __init__(self) -> None:
        self.differing: dict[str, Comparison] = {}
        self.renamed_from: str | None = None
        self.exchange: Exchange | None = None
        self.data: Any = None
        self.files: SentFiles | None = None
        self.answer: LiveResponse | None = None
        self.votes: tuple[JudgeVote, ...] = ()
        self.repeats: RepeatsResult | None = None
        self.versions: VersionsResult | None = None
        self.asserted: tuple[Path, str] | None = None
        self.checks: Any = None
        self.failed_checks = ""
        self.not_sent_ahead: str | None = None


_notes_key: Final[pytest.StashKey[Notes]] = pytest.StashKey()


def notes_of(item: pytest.Item) -> Notes:
    """What is known of a test so far, to be read and added to."""
    return item.stash.setdefault(_notes_key, Notes())


def has_notes(item: pytest.Item) -> bool:
    """Whether anything is known of a test."""
    return _notes_key in item.stash


def take_notes(item: pytest.Item) -> Notes:
    """What is known of a test, which is forgotten: what tests have compared, sent and got would add up."""
    notes = notes_of(item)
    del item.stash[_notes_key]
    return notes


ANSWER_PROPERTY: Final = "chatprompt_answer"
CALLS_PROPERTY: Final = "chatprompt_tool_calls"
CHECK_PROPERTY: Final = "chatprompt_check"
_PROPERTIES: Final = frozenset({ANSWER_PROPERTY, CALLS_PROPERTY, CHECK_PROPERTY})


def set_properties(item: pytest.Item, report: pytest.TestReport, properties: list[tuple[str, Any]]) -> None:
    """Say in JUnit's XML what was answered, in place of what an earlier run of the item has said."""
    # Pytest has copied those of the item into the report, and copies them again when it is torn down.
    for kept in (item.user_properties, report.user_properties):
        kept[:] = [entry for entry in kept if entry[0] not in _PROPERTIES] + properties


def _plain_fixtures(definitions: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The definitions of the fixtures of an item that no project overrides, by name."""
    plain = {
        name: definitions[name][0] for name in _FIXTURES if _is_alone(definitions[name], "pytest_chatprompt.fixtures")
    }
    if "eval_snapshot" in plain and _is_alone(definitions[_SYRUPYS], "syrupy"):
        plain[_SYRUPYS] = definitions[_SYRUPYS][0]
    return plain


def _is_alone(definitions: Sequence[Any], module: str) -> bool:
    """Whether a fixture has one definition, that of a module: none overrides it, or gives it parameters."""
    return len(definitions) == 1 and definitions[0].func.__module__ == module


class EvalItem(pytest.Function):
    """One case that is sent through one provider.

    Attributes:
        label: what stands in the bracket of its snapshot's name: the provider, then the parameters.
        response_fixtures: the project's own fixtures that use the response; they are set up once there is one.
        awaits_answer: whether its test has passed, and its answer is to be graded.
        answers: those that it has waited for, while they are graded.
        finish: grades them, in place of its test function; `None` but for then.
        grading: gets its answer; `None` but while it is graded.
    """

    case: LoadedCase
    provider_name: str
    label: str
    snapshot_folder: Path
    snapshot_stem: str
    awaits_answer = False
    answers: CaseAnswers | None = None
    finish: Callable[[], None] | None = None
    grading: Any = None

    def __init__(self, *, response_fixtures: tuple[str, ...], fixtureinfo: Any, **kwargs: Any) -> None:
        super().__init__(fixtureinfo=fixtureinfo, **kwargs)
        self.response_fixtures = response_fixtures
        later = {ITEM_PARAMETER, *response_fixtures, *((RESPONSE_FIXTURE,) if response_fixtures else ())}
        # A list of its own: the items of a folder share pytest's, and a hook may add a fixture to one of them.
        self.fixturenames = [name for name in self.fixturenames if name not in later]
        self._plain = _plain_fixtures(fixtureinfo.name2fixturedefs)
        # The values of its fixtures in this run of it, for whoever asks.
        self._values: dict[str, Any] = {}

    def setup(self) -> None:
        """Set up the fixtures: by pytest those of the project, by a call those that no project overrides."""
        self._values = {}
        plain = {} if self.config.getoption("setupshow", False) else self._plain
        # Pytest sets up what has no value yet.
        self.funcargs |= dict.fromkeys(plain)
        super().setup()
        for name, definition in plain.items():
            if name != _SYRUPYS:
                self.funcargs[name] = definition.func(**{each: self.funcargs[each] for each in definition.argnames})

    def runtest(self) -> None:
        """Run the case, or grade its answer."""
        if self.finish is None:
            super().runtest()
        else:
            self.finish()

    def teardown(self) -> None:
        """Forget the values of the fixtures: pytest keeps its items to the end."""
        self._values = {}
        super().teardown()

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """The value of a fixture, made once for this run of the item, whoever asks for it: the item, or pytest."""
        if name not in self._values:
            self._values[name] = make()
        return self._values[name]

    def response(self) -> ProviderResponse:
        """The response to what it sends."""
        if self.grading is None:
            raise SnapshotError(
                "eval_response is not available yet (offline it never is); use the hook pytest_chatprompt_response, "
                "or an autouse fixture that takes eval_response"
            )
        response: ProviderResponse = self.grading.response()
        return response

    def eval_api(self, *, is_read: bool) -> EvalAPI:
        """The stand-in of the APIs; unless the project may read it, built-in providers only prepare what they send."""
        api: EvalAPI = self.once("eval_api", lambda: SharedByRun.of(self.config).new_eval_api(self))
        # A fixture that looks at the response may look at what was sent, too.
        api.is_read |= is_read or bool(self.response_fixtures and self.config.stash[options_key].replay)
        return api

    @property
    def snapshot_path(self) -> Path:
        """The file of its snapshot; need not exist."""
        return self.snapshot_folder / f"{self.snapshot_stem}.yaml"

    def warn(self, warning: Warning) -> None:
        """Issue a warning at the line of the message or option that it is about, else at that of the case."""
        line = self._position_of(warning).line
        warnings.warn_explicit(warning, category=None, filename=str(self.path), lineno=line)

    def with_position(self, error: Exception) -> str:
        """An error's text, prefixed with its position in the eval file: that of the message, or else of the case."""
        if isinstance(error, EvalFileError):
            return str(error)
        path = shown_path(self.path, self.config.rootpath)
        return str(Diagnostic(path, *self._position_of(error), str(error), case_id=self.case.full_id))

    def line_of(self, error: Exception) -> int:
        """The 1-based line of the eval file that an error is about, else that of the case."""
        if isinstance(error, EvalFileError):
            first = error.diagnostics[0]
            # A row or an attached file has lines of its own.
            return first.line if first.path == shown_path(self.path, self.config.rootpath) else self.case.line
        return self._position_of(error).line

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """Show an error of this package by its text at the position of the case; others as pytest does."""
        error = excinfo.value
        if not isinstance(error, PACKAGE_ERRORS) or self.config.getoption("fulltrace", False):
            return super().repr_failure(excinfo, *args, **kwargs)
        representation: Any = super().repr_failure(text_failure(self.with_position(error)))
        # The position in the eval file, not of the `raise`: `--tb=line` and reports show it.
        crash = representation.reprcrash
        crash.path, crash.lineno = visible_line(str(self.path)), self.line_of(error)
        crash.message = first_line(error)
        return representation

    def _position_of(self, error: Exception) -> Position:
        """The position of what an error or a warning is about, else of the case."""
        if isinstance(self.case.written, EvalFileError):
            # A fixture of the project went on although the case is invalid.
            return Position(self.case.line, 1)
        origin = self.case.written.origin
        if isinstance(error, UnknownProviderError):
            return origin.position_of_provider(self.provider_name) or origin.position
        if isinstance(error, PayloadError | PayloadWarning):
            if error.location:
                return origin.position_of(*error.location, provider_name=self.provider_name)
            if error.message_number is not None:
                return origin.position_of("input_messages", error.message_number - 1)
        return origin.position

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """Where pytest shows that it is; a path that would change the line is as in its node id."""
        path, line, name = super().location
        return (path if visible_line(path) == path else self.nodeid.partition("::")[0]), line, name

    def reportinfo(self) -> tuple[Path, int, str]:
        """The position of the case, for reports: the file, its 0-based line, the name."""
        return self.path, self.case.line - 1, self.name
