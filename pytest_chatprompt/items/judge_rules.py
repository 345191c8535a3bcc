"""Judge rules: which judge an item will ask, as far as that is known before the item runs.

An eval item comes in; the provider that judges its answer comes out, or the reason why only running the item tells.
`prefetch_planner` calls it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pytest

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.preview import can_preview
from pytest_chatprompt.items.early_fixtures import JUDGE_FIXTURE
from pytest_chatprompt.items.fixture_origin import is_from_plugin
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.prefetch_rules import find_fixture
from pytest_chatprompt.options import options_key
from pytest_chatprompt.providers.response import Provider

UNSHOWN_REASON: Final = "their judge does not prepare its requests as the providers of APIs do"


class JudgeDecision(NamedTuple):
    """The judge of an item.

    Args:
        is_asked: whether a check of the item asks a judge.
        judge: the provider; `None` if none is asked, or if it is not known.
        is_early: whether its fixture has to run for the item, and may run before it: `early_fixtures` knows.
        reason: why it cannot be known before the item runs; `None` if it can be, perhaps once another item has run.
    """

    is_asked: bool
    judge: ChatProvider | None = None
    is_early: bool = False
    reason: str | None = None


def shown_ahead(judge: Provider | None) -> ChatProvider | None:
    """A judge that can show what it sends before an item runs; `None` for another one."""
    return judge if isinstance(judge, ChatProvider) and can_preview(judge) else None


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
        if not self.asks(item):
            return JudgeDecision(False)
        definition = find_fixture(item, JUDGE_FIXTURE)
        if is_from_plugin(definition.func):
            definition = find_fixture(item, f"{self._config.stash[options_key].judge}_provider")
        if definition is None:
            return JudgeDecision(True, reason="their judge has no fixture")
        if definition.scope != "session":
            return JudgeDecision(True, is_early=True)
        if definition.cached_result is None:
            self._awaited.append(definition)
            return JudgeDecision(True)
        judge = shown_ahead(definition.cached_result[0])
        return JudgeDecision(True, judge, reason=UNSHOWN_REASON if judge is None else None)

    def asks(self, item: EvalItem) -> bool:
        """Whether a check of an item asks a judge."""
        case: Any = item.case
        case = getattr(case, "case", case)
        checks = getattr(case, "checks", ())
        # Most cases have none, and each is asked about several times.
        return bool(checks) and any(self._asks(check.type) for check in checks)

    def is_awaited(self, item: EvalItem) -> bool:
        """Whether the judge of an item is not known, so that it cannot be sent ahead."""
        decision = self.decide(item)
        return decision.is_asked and decision.judge is None and not decision.is_early

    def has_new_fixtures(self) -> bool:
        """Whether a judge that items were waiting for has become known since the last call."""
        if all(definition.cached_result is None for definition in self._awaited):
            return False
        self._awaited.clear()
        return True

    def _asks(self, written: str) -> bool:
        if written not in self._types:
            # Most files have no checks.
            from pytest_chatprompt.grading.judge import LlmRubric  # noqa: PLC0415
            from pytest_chatprompt.grading.parsing import UnknownTypeError, find_type  # noqa: PLC0415

            try:
                self._types[written] = issubclass(find_type(written)[0], LlmRubric)
            except UnknownTypeError:
                # The case reports it when it runs.
                self._types[written] = False
        return self._types[written]
