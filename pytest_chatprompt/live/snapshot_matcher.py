"""The snapshot matcher: whether an upcoming case may be sent before it runs.

An `UpcomingCase` comes in; what it sends comes out if that equals its snapshot and causes no warning. Nothing is sent
here. `prefetch` asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.evalfile.case import EvalCase
from pytest_chatprompt.prompt.file_reader import FileReader
from pytest_chatprompt.prompt.request import ProviderRequest, build_request
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.prior_comparison import PriorComparison
from pytest_chatprompt.snapshots.recording_place import RecordingPlace
from pytest_chatprompt.snapshots.shown_data import snapshot_data
from pytest_chatprompt.snapshots.stored import file_shows

if TYPE_CHECKING:
    from pytest_chatprompt.grading.judge import JudgePrompt
    from pytest_chatprompt.live.early_grades import EarlyGrades, GradeAnswer, RunJobs
    from pytest_chatprompt.live.judging import Judging
    from pytest_chatprompt.providers.response import ProviderResponse


@dataclass(frozen=True, slots=True)
class UpcomingCase:
    """A case that pytest runs later.

    Args:
        node_id: its node id.
        order: its place in the run; requests of lower numbers are sent first.
        provider_name: the name by which its provider was asked for.
        place: where its recording is, beside its snapshot.
        load: gives the case, or raises `EvalFileError`.
        request: what a fixture made of the case; `None` if none did.
        repeat: gives how often the case is sent, at least 1.
        judge: the provider that judges its answer; `None` if it is not known, or cannot show what it sends.
        grade: lets its graders look at an answer in a thread; `None` if none may.
    """

    node_id: str
    order: int
    provider_name: str
    place: RecordingPlace
    load: Callable[[], EvalCase]
    request: ProviderRequest | None = None
    repeat: Callable[[EvalCase], int] = lambda _: 1
    judge: ChatProvider | None = None
    grade: GradeAnswer | None = None

    @property
    def snapshot_path(self) -> Path:
        """The file of its snapshot; need not exist."""
        return self.place.folder / f"{self.place.stem}.yaml"


class MatchedCase(NamedTuple):
    """An upcoming case that equals its snapshot.

    Args:
        exchange: what it sends.
        judging: what a judge will be asked about its answer; `None` for nothing.
        grade: lets its graders look at an answer in a thread; `None` if none may.
    """

    exchange: Exchange
    judging: Judging | None = None
    grade: Callable[[ProviderResponse, RunJobs], EarlyGrades | None] | None = None


@dataclass(frozen=True, slots=True)
class SnapshotMatcher:
    """Decides whether an upcoming case may be sent: it has to equal its snapshot, and cause no warning.

    Args:
        root: pytest's root folder.
        reader: the run's reader of attached files.
        redactor: the secrets of the run.
        system_prompt: the project's default system prompt; `None` for none.
        judge_prompt: gives the project's prompt of the judge; `None` if it has none.
    """

    root: Path
    reader: FileReader
    redactor: Redactor
    system_prompt: str | None
    judge_prompt: Callable[[], JudgePrompt | None] = lambda: None
    # By node id, of cases that have not run yet. Threads add to it.
    _comparisons: dict[str, PriorComparison] = field(default_factory=dict, init=False)

    def match(self, case: UpcomingCase, capture: Callable[[ProviderRequest], Exchange]) -> MatchedCase | None:
        """What a case sends, if it equals its snapshot and neither preflight nor the redactor objects; else `None`.

        Args:
            case: the case.
            capture: shows what its provider sends for a request.
        """
        try:
            loaded = case.load()
            request = case.request or build_request(
                loaded,
                self.reader,
                project_system_prompt=self.system_prompt,
                provider_name=case.provider_name,
            )
            exchange = capture(request)
            judging = None
            if loaded.checks:
                # Most files have none.
                from pytest_chatprompt.grading.parsing import parse_checks  # noqa: PLC0415
                from pytest_chatprompt.live.judging import judging_ahead  # noqa: PLC0415

                checks = (check.check for check in parse_checks(loaded, self.reader))
                judging = judging_ahead(case.judge, checks, loaded, request, self.judge_prompt)
            judge = () if judging is None else judging.previews
            masks = case.place.masks
            data = masks.apply(snapshot_data(exchange, case.provider_name, self.root, judge))
            is_equal = file_shows(case.snapshot_path, dump(data, shared=self.reader.shared))
        except Exception:
            # Errors of the case are reported when it runs.
            return None
        findings = any(each.response.findings for each in (exchange, *judge))
        # Before the search: another thread may learn a secret meanwhile.
        secrets_known = self.redactor.learn_environment()
        if not is_equal or findings or self.redactor.find(data, self.reader.shared) is not None:
            return None
        if exchange.prepared is not None and judging is None:
            self._comparisons[case.node_id] = PriorComparison(
                exchange, case.provider_name, masks, data, self.redactor, secrets_known
            )
        return MatchedCase(exchange, judging, case.grade and partial(case.grade, loaded, exchange.request))

    def take_comparison(self, node_id: str) -> PriorComparison | None:
        """Hand over the comparison of a case that asks no judge; `None` if there is none, or it was taken."""
        return self._comparisons.pop(node_id, None)
