"""Judge rules: which judge an item will ask, as far as that is known before the item runs.

An eval item comes in; the provider that judges its answer comes out, or the reason why only running the item tells.
`prefetch_planner` calls it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pytest

from pytest_chatprompt.capture.preview import can_preview
from pytest_chatprompt.items.fixture_origin import is_from_plugin
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.prefetch_rules import find_fixture
from pytest_chatprompt.options import options_key
from pytest_chatprompt.providers.chat.base import ChatProvider

JUDGE_FIXTURE: Final = "eval_judge"


class JudgeDecision(NamedTuple):
    """The judge of an item.

    Args:
        is_asked: whether a check of the item asks a judge.
        judge: the provider; `None` if none is asked, or if it is not known.
        reason: why it cannot be known before the item runs; `None` if it can be, perhaps once another item has run.
    """

    is_asked: bool
    judge: ChatProvider | None = None
    reason: str | None = None


class JudgeRules:
    """Finds the judges of upcoming items.

    Args:
        config: the run's configuration.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # Whether a type asks a judge, by its name as written.
        self._types: dict[str, bool] = {}
        # Fixtures that have to run before the judges of some items are known.
        self._awaited: list[Any] = []

    def decide(self, item: EvalItem) -> JudgeDecision:
        """The judge of an item, by its checks and its fixtures."""
        case: Any = item.case
        case = getattr(case, "case", case)
        if not any(self._asks(check.type) for check in getattr(case, "checks", ())):
            return JudgeDecision(False)
        definition = find_fixture(item, JUDGE_FIXTURE)
        if is_from_plugin(definition.func):
            definition = find_fixture(item, f"{self._config.stash[options_key].judge}_provider")
        if definition is None:
            return JudgeDecision(True, reason="their judge has no fixture")
        if definition.scope != "session":
            return JudgeDecision(True, reason=f"the fixture {definition.argname} does not have session scope")
        if definition.cached_result is None:
            self._awaited.append(definition)
            return JudgeDecision(True)
        judge = definition.cached_result[0]
        if not isinstance(judge, ChatProvider) or not can_preview(judge):
            return JudgeDecision(True, reason="their judge does not prepare its requests as the providers of APIs do")
        return JudgeDecision(True, judge)

    def is_awaited(self, item: EvalItem) -> bool:
        """Whether the judge of an item is not known, so that it cannot be sent ahead."""
        decision = self.decide(item)
        return decision.is_asked and decision.judge is None

    def has_new_fixtures(self) -> bool:
        """Whether a judge that items were waiting for has become known since the last call."""
        if all(definition.cached_result is None for definition in self._awaited):
            return False
        self._awaited.clear()
        return True

    def _asks(self, written: str) -> bool:
        if written not in self._types:
            # Most files have no checks.
            from pytest_chatprompt.grading.llm_rubric import LlmRubric  # noqa: PLC0415
            from pytest_chatprompt.grading.table import UnknownTypeError, find_type  # noqa: PLC0415

            try:
                self._types[written] = issubclass(find_type(written)[0], LlmRubric)
            except UnknownTypeError:
                # The case reports it when it runs.
                self._types[written] = False
        return self._types[written]
