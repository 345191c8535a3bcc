"""Own snapshots: the snapshots that ordinary tests compare with, through the fixture `eval_snapshot`.

A test and syrupy's assertion come in; an `EvalSnapshot` comes out that knows where the snapshot of the test is, and
what must not be in it. `fixtures` calls it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.items.against import revision_of
from pytest_chatprompt.items.commands import accepting_command
from pytest_chatprompt.items.item import EvalItem, note_use
from pytest_chatprompt.items.own_comparison import keep_assertion
from pytest_chatprompt.items.own_snapshot_names import SnapshotStems, checked_snapshot_folder
from pytest_chatprompt.items.session import EvalSession
from pytest_chatprompt.options import options_key
from pytest_chatprompt.snapshots.assertion import AssertionContext, EvalSnapshot
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.shown_data import asserted_data


def wrap_snapshot(item: pytest.Item, snapshot: SnapshotAssertion, masks: object) -> EvalSnapshot:
    """Make the assertion of a test.

    Args:
        item: the test; an eval item prepares its data itself.
        snapshot: syrupy's fixture.
        masks: the fixture `eval_masks`.

    Raises:
        MaskError: the masks are invalid.
        SnapshotError: a link leads the folder of its snapshots out of the root folder.
    """
    root = item.config.rootpath
    revision = revision_of(item.config)
    parsed = Masks.from_mapping(masks)
    session = EvalSession.get(item.config)
    if isinstance(item, EvalItem):
        return EvalSnapshot.wrap(
            snapshot,
            AssertionContext(
                root,
                revision=revision,
                note_written=session.unused_snapshots.renames.note_written,
                shared=session.reader().shared,
            ),
        )
    # An eval item has no late differences.
    from pytest_chatprompt.items.usage import note_late_difference  # noqa: PLC0415

    # The names that the extension asks the item of an assertion for.
    names: Any = item
    names.snapshot_folder = checked_snapshot_folder(item)
    names.snapshot_stem = SnapshotStems.of(item.session).find(item)
    context = AssertionContext(
        root,
        note_written=session.unused_snapshots.renames.note_written,
        prepare=partial(_prepare, root=root, masks=parsed, redactor=session.redactor),
        revision=revision,
        compares=not item.config.stash[options_key].show,
        describe_command=partial(accepting_command, item),
        note_asserted=partial(note_use, item, "asserted", content=[]),
        note_derived=partial(keep_assertion, item),
        note_late_difference=partial(note_late_difference, item),
    )
    assertion = EvalSnapshot.wrap(snapshot, context)
    keep_assertion(item, assertion, is_first=True)
    return assertion


def _prepare(value: Any, *, root: Path, masks: Masks, redactor: Redactor) -> Any:
    """The data that the snapshot of a value shows."""
    __tracebackhide__ = True
    data = masks.apply(asserted_data(value, root))
    secret = redactor.find(data)
    if secret is not None:
        raise SnapshotError(
            f"the snapshot would hold {secret.what}, under {secret.path}; remove it: snapshots are committed. "
            "If it is not a secret, add a regular expression for it to the ini value chatprompt_allowed_secrets"
        )
    return data
