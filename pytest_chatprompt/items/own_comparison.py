"""Own comparison: how an ordinary test's comparison with its snapshot ended.

`own_snapshots` keeps the assertion of a test here; `report_hooks` asks for its failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pytest_chatprompt.snapshots.assertion import EvalSnapshot

assertion_key: Final[pytest.StashKey[EvalSnapshot]] = pytest.StashKey()


def failed_comparison(item: pytest.Item) -> str:
    """The failure of a test's last comparison with a snapshot; `""` if there is none."""
    assertion = item.stash.get(assertion_key, None)
    return "\n".join(assertion.describe_failure()) if assertion is not None and assertion.has_failed else ""
