"""The item: a case that goes through a provider, as a function item of pytest.

`collection` makes them. An item knows where its snapshot and its recorded answer are, and where in the eval file stands
what an error or a warning is about.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from pytest_chatprompt.case import EvalCase
from pytest_chatprompt.errors import EvalFileError, PayloadError, PayloadWarning, Problem
from pytest_chatprompt.eval_file import BrokenCase
from pytest_chatprompt.failures import OWN_ERRORS, first_line, plain
from pytest_chatprompt.templates import RESPONSE
from pytest_chatprompt.yaml_tree import Place

if TYPE_CHECKING:
    from pytest_chatprompt.collection import EvalFile

ANSWER_SUFFIX: Final = ".answer.yaml"


class EvalItem(pytest.Function):
    """A case that goes through a provider.

    Attributes:
        case: the case, or what is wrong with it.
        provider_name: the name of the provider that was asked for.
        label: what stands in the bracket of its snapshot's name: the provider, and the parameters.
        snapshot_stem: the file name of its snapshot, without extension.
        graders: the project's own fixtures that look at the answer; they are set up when there is one.
    """

    snapshot_stem: str

    def __init__(
        self,
        *,
        case: EvalCase | BrokenCase,
        provider_name: str,
        label: str,
        graders: tuple[str, ...],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.graders = graders
        if graders:
            self.fixturenames = [name for name in self.fixturenames if name not in (*graders, RESPONSE)]
        self.case = case
        self.provider_name = provider_name
        self.label = label

    @property
    def file(self) -> EvalFile:
        """The eval file that it is of."""
        return cast("EvalFile", self.parent)

    @property
    def line(self) -> int:
        """The 1-based line on which the case begins."""
        return self.case.line

    @property
    def snapshot_folder(self) -> Path:
        """Where its snapshot is, and its recorded answer."""
        return self.file.snapshot_folder

    @property
    def snapshot_path(self) -> Path:
        """The file of its snapshot."""
        return self.snapshot_folder / f"{self.snapshot_stem}.yaml"

    @property
    def answer_path(self) -> Path:
        """The file of its recorded answer."""
        return self.snapshot_folder / f"{self.snapshot_stem}{ANSWER_SUFFIX}"

    def readable_case(self) -> EvalCase:
        """The case.

        Raises:
            EvalFileError: it could not be read.
        """
        if isinstance(self.case, BrokenCase):
            raise self.case.error
        return self.case

    def warn(self, warning: Warning) -> None:
        """Issue a warning, at the line of the message that it is about, or of the case."""
        place = self._place_of(warning)
        warnings.warn_explicit(
            warning, category=None, filename=str(self.path), lineno=place.line if place else self.line
        )

    def located(self, error: Exception) -> str:
        """An error's text, with the place in the eval file in front: of the message that it names, or of the case."""
        if isinstance(error, EvalFileError):
            return str(error)
        place = self._place_of(error)
        if place is None or isinstance(self.case, BrokenCase):
            # A fixture of the user's own went on without the case.
            return f"{self.nodeid}: {error}"
        return str(Problem(self.case.origin.shown_path, place.line, place.column, str(error), case_id=self.case.id))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """An error of this package by its text alone, at the place of the case; others as pytest has them."""
        error = excinfo.value
        if not isinstance(error, OWN_ERRORS) or self.config.option.fulltrace:
            return super().repr_failure(excinfo, *args, **kwargs)
        shown: Any = super().repr_failure(plain(self.located(error)))
        # Where the case stands, not where this package raised: `--tb=line`, JUnit and CI annotations show it.
        shown.reprcrash.path, shown.reprcrash.lineno = str(self.path), self.line
        shown.reprcrash.message = first_line(error)
        return shown

    def _place_of(self, told: Exception) -> Place | None:
        """Where in the file the message stands that an error or a warning is about, or else the case."""
        if isinstance(self.case, BrokenCase):
            return None
        origin = self.case.origin
        number = told.message_number if isinstance(told, PayloadError | PayloadWarning) else None
        return origin.place if number is None else origin.find("input_messages", number - 1)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The place of the case, for reports: the file, its 0-based line, the name."""
        return self.path, self.line - 1, self.name
