"""Uses of own snapshots: which snapshots ordinary tests compared with in this run, to find those that none needs.

The run's items, their reports and what they assert come in; the paths of unused snapshots come out, for modules that
were selected whole. `session` registers an `OwnSnapshotUses` as a plugin; `unused_snapshots` asks it at the end of the
run, and merges those of workers.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.own_snapshot_names import SnapshotStems, snapshot_folder
from pytest_chatprompt.snapshots.files import leads_out_of_root
from pytest_chatprompt.snapshots.unused import unused_test_snapshots

if TYPE_CHECKING:
    from pytest_chatprompt.capture.sent_request import SentRequest
    from pytest_chatprompt.snapshots.recording_place import RecordingPlace


@dataclass(eq=False)
class OwnSnapshotUses:
    """What ordinary tests did with their snapshots; the fields are data that a worker of pytest-xdist can send.

    Args:
        modules: for each folder of snapshots that exists, the tests of its module: node ids, each with the stem of its
            snapshots.
        passed: the node ids of tests that passed.
        asserted: the snapshots that tests have compared with.
        sent: in a run that updates, the recordings of tests, each with the hashes of what the test sent.
    """

    modules: dict[str, dict[str, str]] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    asserted: set[str] = field(default_factory=set)
    sent: dict[str, list[str]] = field(default_factory=dict)

    _collected: Counter[Path] = field(default_factory=Counter)

    def note_collected(self, items: Iterable[pytest.Item]) -> None:
        """Note the tests of each file, before hooks and options deselect any."""
        self._collected.update(item.path for item in items)

    def note_selected(self, session: pytest.Session) -> None:
        """Note the tests with snapshots, in the modules that the run has selected whole."""
        if not self._collected or session.config.getoption("lf", False):
            # `--lf` leaves tests out while they are collected.
            return
        selected = Counter(item.path for item in session.items)
        named = _files_of_named_tests(session.config)
        folders: dict[Path, str] = {}
        for item in session.items:
            path = item.path
            if path not in folders:
                folder = snapshot_folder(item)
                is_whole = selected[path] == self._collected[path] and path not in named
                is_inside = folder.is_dir() and not leads_out_of_root(folder, session.config.rootpath)
                folders[path] = str(folder) if is_whole and is_inside else ""
            if folders[path] and not isinstance(item, EvalItem):
                self.modules.setdefault(folders[path], {})[item.nodeid] = SnapshotStems.of(session).find(item)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which tests pass."""
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)
        elif report.failed:
            self.passed.discard(report.nodeid)

    def note_asserted(self, path: Path) -> None:
        """Note that a test has compared with a snapshot."""
        self.asserted.add(str(path))

    def note_sent(self, place: RecordingPlace, sent: Iterable[SentRequest]) -> None:
        """Note what a test has sent.

        Args:
            place: of its recording.
            sent: in any order.
        """
        # Most runs send nothing in ordinary tests.
        from pytest_chatprompt.capture.recording.recorded_exchange import request_sha256  # noqa: PLC0415

        hashes = [request_sha256(each.endpoint, place.masks.apply(each.body)) for each in sent]
        self.sent[str(place.path)] = hashes

    def as_data(self) -> dict[str, Any]:
        """The notes as data, for `merge` in another process."""
        return {
            "modules": self.modules,
            "passed": list(self.passed),
            "asserted": list(self.asserted),
            "sent": self.sent,
        }

    def merge(self, data: dict[str, Any]) -> None:
        """Add what a worker noted."""
        self.modules |= data["modules"]
        self.passed |= set(data["passed"])
        self.asserted |= set(data["asserted"])
        self.sent |= data["sent"]

    def find_unused(self) -> Iterable[Path]:
        """The snapshots and recordings that no test uses."""
        asserted = {Path(path) for path in self.asserted}
        for folder, tests in self.modules.items():
            unsure = [stem for node_id, stem in tests.items() if node_id not in self.passed]
            yield from unused_test_snapshots(Path(folder), asserted, tests.values(), unsure)


def _files_of_named_tests(config: pytest.Config) -> set[Path]:
    """The files of which the command line names single tests."""
    names = [str(argument).partition("::") for argument in config.args]
    # As pytest does: links stay.
    return {Path(os.path.normpath(config.invocation_params.dir / path)) for path, separator, _ in names if separator}
