"""Show people how what is sent now differs from the snapshot, as text.

Two texts come in, the stored one and one written by `serializer`, or the `Difference` that `changes` found; a diff
comes out. Each hunk is headed by its path in the data (`request.messages[1].content`). Pure; failures of cases, tests
and recordings show it.
"""

from __future__ import annotations

from typing import Final

from pytest_chatprompt.snapshots.changes import compare_snapshots
from pytest_chatprompt.snapshots.difference import Difference

_MAX_DIFF_LINES: Final = 400


def diff_snapshots(stored: str, sent: str) -> str:
    """Compare two snapshots line by line.

    Args:
        stored: the text of the snapshot's file; it need not be valid YAML.
        sent: the text of what is sent now.

    Returns:
        See `diff_text`.
    """
    return diff_text(compare_snapshots(stored, sent))


def diff_text(difference: Difference) -> str:
    """Write a difference as text.

    Returns:
        Removed lines with `-`, added lines with `+`, what moved with `>`, each hunk under its path in the data, at most
        400 lines; `""` where nothing differs.
    """
    diff = [line for hunk in difference.hunks for line in (f"@@ {hunk.place} @@", *hunk.lines)]
    if len(diff) > _MAX_DIFF_LINES:
        diff[_MAX_DIFF_LINES:] = [f"... and {len(diff) - _MAX_DIFF_LINES} more lines"]
    return "\n".join(diff)
