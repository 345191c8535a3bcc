"""The failure of a case that is not what its snapshot says: noted for reports, and raised with the diff.

An item and the result of its comparison come in, a `SnapshotError` is raised. `case_runner` calls it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.items.case_results import note_comparison
from pytest_chatprompt.items.commands import accepting_command
from pytest_chatprompt.items.shared import SharedByRun
from pytest_chatprompt.items.snapshot_renames import find_old_name
from pytest_chatprompt.options import options_key
from pytest_chatprompt.snapshots.comparison import Comparison
from pytest_chatprompt.snapshots.diff import diff_text
from pytest_chatprompt.snapshots.files import shown_snapshot

if TYPE_CHECKING:
    from syrupy.assertion import AssertionResult

    from pytest_chatprompt.capture.exchange import Exchange
    from pytest_chatprompt.items.item import EvalItem


def fail_for_snapshot(item: EvalItem, result: AssertionResult, exchange: Exchange) -> NoReturn:
    """Fail because the snapshot is not what is sent, and note why for reports.

    Args:
        item: the case's item.
        result: of the comparison.
        exchange: what is sent.

    Raises:
        SnapshotError: always.
    """
    __tracebackhide__ = True
    stored = None if result.recalled_data is None else str(result.recalled_data)
    comparison = Comparison(Path(result.snapshot_location), stored, str(result.asserted_data))
    renamed_from = find_old_name(item, comparison, SharedByRun.of(item.config).revision) if stored is None else None
    note_comparison(item, comparison, exchange, renamed_from)
    raise SnapshotError(_mismatch_message(item, comparison, renamed_from))


def _mismatch_message(item: EvalItem, comparison: Comparison, renamed_from: str | None) -> str:
    path = shown_snapshot(comparison.path, item.config.rootpath, item.config.stash[options_key].against)
    command = accepting_command(item)
    if comparison.stored is None:
        renamed = f": it is renamed from {renamed_from!r}, whose snapshot shows just this" if renamed_from else ""
        text = f"what is sent to {item.provider_name} has no snapshot yet{renamed}\nThere is no {path}."
        return f"{text}\nTo write it, for review: {command}" if command else text
    problem = f"\n\nThe snapshot {comparison.problem}." if comparison.problem else ""
    text = (
        f"what is sent to {item.provider_name} is not what its snapshot says{problem}\n\n"
        f"{path}\n{diff_text(comparison.difference)}"
    )
    return f"{text}\n\nTo accept it: {command}" if command else text
