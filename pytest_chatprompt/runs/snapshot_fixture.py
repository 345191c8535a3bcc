"""The fixture `eval_snapshot`: the assertion of a test, and the command that accepts what the test sends."""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.options import options_key
from pytest_chatprompt.runs.code_snapshots import SnapshotStems, checked_snapshot_folder, keep_assertion
from pytest_chatprompt.runs.item import EvalItem, note_use
from pytest_chatprompt.runs.shared import SharedByRun
from pytest_chatprompt.snapshots.assertion import AssertionContext, EvalSnapshot
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.shown_data import asserted_data


def accepting_command(item: pytest.Item) -> str:
    """The command that writes the snapshots of a test; `""` in a run that compares with those of a revision."""
    options = item.config.stash[options_key]
    if options.against is not None:
        return ""
    # What an ordinary test sends may depend on what it gets.
    modes = (("--chatprompt-live", options.live), ("--chatprompt-replay", options.replay))
    modes_of_run = [name for name, is_on in modes if is_on and not isinstance(item, EvalItem)]
    return command_for(item, *modes_of_run, "--snapshot-update")


def command_for(item: pytest.Item, *further: str) -> str:
    """The command that runs a test with further options, and with those of this run that choose what it sends."""
    # Most tests need no command.
    from pytest_chatprompt.reports.run_commands import FOLDER_OPTIONS, kept_options  # noqa: PLC0415

    options = item.config.stash[options_key]
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    overrides = [value for value in item.config.getoption("override_ini") or () if value.startswith("chatprompt_")]
    words = ["pytest", f"{path}::{item.nodeid.partition('::')[2]}"]
    words += kept_options(map(str, item.config.invocation_params.args), FOLDER_OPTIONS)
    words += [word for override in overrides for word in ("-o", override)]
    words += ["--chatprompt-provider", options.provider] if options.provider and isinstance(item, EvalItem) else []
    return shlex.join([*words, *further])


def wrap_snapshot(request: pytest.FixtureRequest, snapshot: SnapshotAssertion | None, masks: object) -> EvalSnapshot:
    """Make the assertion of a test; an eval item whose project does not override syrupy's `snapshot` has none.

    Raises:
        MaskError: the masks are invalid.
        SnapshotError: a link leads the folder of its snapshots out of the root folder.
    """
    item = request.node
    root = item.config.rootpath
    parsed = Masks.from_mapping(masks)
    shared = SharedByRun.of(item.config)
    if snapshot is None:
        snapshot = _snapshot_of_folder(request, shared)
    if isinstance(item, EvalItem):
        return EvalSnapshot.wrap(snapshot, item, AssertionContext(root, revision=shared.revision))
    # An eval item has no late differences.
    from pytest_chatprompt.runs.usage_summary import set_properties  # noqa: PLC0415

    # The names that the extension asks the item of an assertion for.
    names: Any = item
    names.snapshot_folder = checked_snapshot_folder(item)
    names.snapshot_stem = SnapshotStems.of(item.session).find(item)
    context = AssertionContext(
        root,
        prepare=partial(_prepare, root=root, masks=parsed, redactor=shared.redactor),
        revision=shared.revision,
        compares=not item.config.stash[options_key].show,
        describe_command=partial(accepting_command, item),
        note_asserted=partial(note_use, item, "asserted", content=[]),
        note_derived=partial(keep_assertion, item),
        note_late_difference=partial(set_properties, item, {"late_difference": True}),
    )
    assertion = EvalSnapshot.wrap(snapshot, item, context)
    keep_assertion(item, assertion, is_first=True)
    return assertion


def _snapshot_of_folder(request: pytest.FixtureRequest, shared: SharedByRun) -> SnapshotAssertion:
    """Syrupy's fixture for a case of a folder: it looks for unused snapshots of others where each is made."""
    folder = request.node.snapshot_folder.parent
    if folder not in shared.snapshots:
        shared.snapshots[folder] = request.getfixturevalue("snapshot")
    return shared.snapshots[folder]


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
