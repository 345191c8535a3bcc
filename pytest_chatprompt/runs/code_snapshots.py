"""The fixture `eval_snapshot`: where the snapshots of a test are, their names, and how it compared with them."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.options import options_key, snapshot_dirname
from pytest_chatprompt.runs.item import EvalItem, note_use, notes_of
from pytest_chatprompt.runs.run_state import SharedByRun, refuse_secret
from pytest_chatprompt.snapshots.files import normalized_name, refuse_folder_outside_root, snapshot_stem_of_test
from pytest_chatprompt.wording import grouped

if TYPE_CHECKING:
    from syrupy.assertion import AssertionResult, SnapshotAssertion

    from pytest_chatprompt.snapshots.assertion import EvalSnapshot
    from pytest_chatprompt.snapshots.masks import Masks


def snapshot_folder(item: pytest.Item) -> Path:
    """The folder of the snapshots of an ordinary test; need not exist."""
    return item.path.parent / snapshot_dirname(item.config) / item.path.stem


def checked_snapshot_folder(item: pytest.Item) -> Path:
    """The folder of the snapshots of an ordinary test, in which files may be written."""
    folder = snapshot_folder(item)
    refuse_folder_outside_root(folder, item.config.rootpath)
    return folder


class SnapshotStems:
    """The stems of the snapshots of ordinary tests: the same for each selection of tests in a module."""

    def __init__(self, session: pytest.Session) -> None:
        names = {(item.path, test_name(item)) for item in session.items}
        self._tests = Counter((path, normalized_name(name)) for path, name in names)
        # Those of the files of each folder, when it was first asked for, by what some file systems take for one.
        self._stems: dict[Path, dict[str, list[str]]] = {}

    @classmethod
    def of(cls, session: pytest.Session) -> SnapshotStems:
        """The stems of a run."""
        if _stems_key not in session.stash:
            session.stash[_stems_key] = cls(session)
        return session.stash[_stems_key]

    def find(self, item: pytest.Item) -> str:
        """The stem of a test's snapshot."""
        name = test_name(item)
        if name == normalized_name(name):
            # Of the names that some file systems take for one, the normalized one needs no digest.
            return snapshot_stem_of_test(name)
        stem, unique = snapshot_stem_of_test(name), snapshot_stem_of_test(name, with_digest=True)
        if self._tests[item.path, normalized_name(name)] > 1:
            return unique
        # A run of this test alone does not know the others, but their files are there.
        folder = snapshot_folder(item)
        if folder not in self._stems:
            self._stems[folder] = grouped((normalized_name(path.stem), path.stem) for path in folder.glob("*.yaml"))
        stems = self._stems[folder]
        others = {*stems.get(normalized_name(stem), ())} - {stem}
        return unique if others or unique in stems.get(normalized_name(unique), ()) else stem


_stems_key: Final = pytest.StashKey[SnapshotStems]()


def test_name(item: pytest.Item) -> str:
    """The name of a test with its classes: `TestGreeting.test_name[Ada]`."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join((*classes, item.name))


# What pytest says of an `assert` of nothing but a comparison, after the words of its author, and what unittest says.
_ASSERTED: Final = r"(?:(.+)\n)?assert \[(?:\+ received\] == \[- snapshot|- snapshot\] == \[\+ received)\]\n  "
_ASSERTED_EQUAL: Final = r".+ != <eval_snapshot>|<eval_snapshot> != (?!.* : ).+"
# Syrupy colours it where the run has a terminal.
_COLOUR: Final = r"\x1b\[[\d;]*m"
# Those of a test that have compared, by their files.
assertions_key: Final[pytest.StashKey[dict[str, EvalSnapshot]]] = pytest.StashKey()


def last_assertion(item: pytest.Item) -> EvalSnapshot | None:
    """The assertion of a test whose last comparison failed; else the last one that compared, `None` for none."""
    compared = item.stash.get(assertions_key, {})
    return max(reversed(compared.values()), key=lambda assertion: assertion.has_failed, default=None)


def failure_text(error: BaseException, comparison: str) -> str | None:
    """All there is to say of a test that fails for nothing but its comparison: the words of its `assert`, and that.

    `None` if the error says something else as well.
    """
    # In a `finally` or an `except` it stands for another error. Hypothesis notes the example that fails.
    if not isinstance(error, AssertionError) or error.__context__ is not None or hasattr(error, "__notes__"):
        return None
    message = re.sub(_COLOUR, "", str(error))
    first_line = comparison.partition("\n")[0]
    asserted = re.match(_ASSERTED, message)
    # Another assertion of the test may be the last one that failed.
    if asserted is not None and message.startswith(first_line, asserted.end()):
        words = f"{asserted[1]}: " if asserted[1] else ""
    elif re.fullmatch(_ASSERTED_EQUAL, message):
        words = ""
    else:
        return None
    if first_line.startswith("There is no "):
        return f"{words}what is sent has no snapshot yet\n{comparison}"
    if first_line == comparison:
        # The snapshot cannot be read.
        return f"{words}{comparison}"
    return f"{words}what is sent is not what its snapshot says\n\n{comparison}"


def accepting_command(item: pytest.Item) -> str:
    """The command that writes the snapshots of a test; `""` if the run compares with a revision, or may write none."""
    options = item.config.stash[options_key]
    if options.against is not None or options.refused_update:
        return ""
    # What an ordinary test sends may depend on what it gets.
    modes = (("--chatprompt-live", options.live), ("--chatprompt-replay", options.replay))
    modes_of_run = [name for name, is_on in modes if is_on and not isinstance(item, EvalItem)]
    return command_for(item, *modes_of_run, "--snapshot-update")


def command_for(item: pytest.Item, *further: str) -> str:
    """The command that runs a test with further options, and with those of this run that choose what it sends."""
    # Most tests need no command.
    from pytest_chatprompt.reports.run_commands import OPTIONS_WITH_VALUE, kept_options  # noqa: PLC0415

    invocation = item.config.invocation_params
    path = os.path.relpath(item.path, invocation.dir)
    kept = kept_options(map(str, invocation.args), OPTIONS_WITH_VALUE)
    return shlex.join(["pytest", f"{path}::{item.nodeid.partition('::')[2]}", *kept, *further])


def wrap_snapshot(request: pytest.FixtureRequest, snapshot: SnapshotAssertion | None, masks: object) -> EvalSnapshot:
    """Make the assertion of a test; an eval item whose project does not override syrupy's `snapshot` has none."""
    # What only runs, and not what collects, needs.
    from syrupy.assertion import SnapshotAssertion  # noqa: PLC0415

    from pytest_chatprompt.snapshots.assertion import AssertionContext, EvalSnapshot  # noqa: PLC0415
    from pytest_chatprompt.snapshots.masks import Masks  # noqa: PLC0415

    item = request.node
    root, options = item.config.rootpath, item.config.stash[options_key]
    # Invalid ones are an error of the set-up.
    parsed = Masks.from_mapping(masks)
    shared = SharedByRun.of(item.config)
    if snapshot is None and isinstance(item, EvalItem):
        # For each folder the first one: syrupy looks for unused snapshots of others where each is made.
        folder = item.snapshot_folder.parent
        if folder not in shared.snapshots:
            shared.snapshots[folder] = request.getfixturevalue("snapshot")
        snapshot = shared.snapshots[folder]
    if not isinstance(snapshot, SnapshotAssertion):
        kind = type(snapshot).__name__
        pytest.fail(
            "eval_snapshot needs syrupy's fixture snapshot; "
            f"another one, which gives {kind}, hides it: rename that, or switch its plugin off",
            pytrace=False,
        )
    if isinstance(item, EvalItem):
        noted = notes_of(item).differing
        return EvalSnapshot.wrap(snapshot, item, AssertionContext(root, noted, {}, options.accept, shared.revision))
    # An eval item has no late differences.
    from pytest_chatprompt.runs.usage_summary import set_properties  # noqa: PLC0415

    # The names that the extension asks the item of an assertion for.
    names: Any = item
    names.snapshot_folder = checked_snapshot_folder(item)
    names.snapshot_stem = SnapshotStems.of(item.session).find(item)
    context = AssertionContext(
        root,
        differing={},
        compared=item.stash.setdefault(assertions_key, {}),
        accepted=options.accept,
        revision=shared.revision,
        prepare=partial(_prepare, item=item, masks=parsed),
        compares=not options.show,
        describe_command=partial(accepting_command, item),
        note_asserted=partial(note_use, item, "asserted", content=[]),
        note_version=partial(_note_version, item) if options.ab_revision else None,
        note_late_difference=partial(set_properties, item, {"late_difference": True}),
    )
    return EvalSnapshot.wrap(snapshot, item, context)


def _note_version(item: pytest.Item, result: AssertionResult) -> None:
    """Note what a test compares first."""
    notes = notes_of(item)
    notes.asserted = notes.asserted or (Path(result.snapshot_location), str(result.asserted_data))


def _prepare(value: Any, item: pytest.Item, masks: Masks) -> Any:
    """The data that the snapshot of a value shows."""
    __tracebackhide__ = True
    from pytest_chatprompt.snapshots.shown_data import asserted_data  # noqa: PLC0415

    data = masks.apply(asserted_data(value, item.config.rootpath))
    refuse_secret(SharedByRun.of(item.config).redactor, data, "the snapshot would hold")
    return data
