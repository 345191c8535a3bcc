"""Uses of own snapshots: which snapshots ordinary tests compared with in this run, to find those that none needs.

The run's items, their reports and what they assert come in; the paths of unused snapshots come out, for modules that
were selected whole, and what the run knows of other modules. `session` registers an `OwnSnapshotUses` as a plugin;
`unused_snapshots` asks it at the end of the run, and merges those of workers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
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
        left_out: for each of these folders the node ids of the tests that were not selected; none if all were.
        passed: the node ids of tests that passed.
        asserted: the snapshots that tests have compared with.
        sent: in a run that updates, the recordings of tests, each with the hashes of what the test sent.
    """

    modules: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    asserted: set[str] = field(default_factory=set)
    sent: dict[str, list[str]] = field(default_factory=dict)

    _collected: dict[Path, list[pytest.Item]] = field(default_factory=dict)

    def note_collected(self, items: Iterable[pytest.Item]) -> None:
        """Note the tests of each file, before hooks and options deselect any."""
        for item in items:
            self._collected.setdefault(item.path, []).append(item)

    def note_selected(self, session: pytest.Session) -> None:
        """Note the tests with snapshots, in the modules all of whose tests were collected."""
        collected, self._collected = self._collected, {}
        if not collected or session.config.getoption("lf", False):
            # `--lf` leaves tests out while they are collected.
            return
        selected = {item.nodeid for item in session.items}
        named = _files_of_named_tests(session.config)
        for path in {item.path: None for item in session.items}:
            tests = [item for item in collected.get(path, ()) if not isinstance(item, EvalItem)]
            if not tests or path in named or not (folder := snapshot_folder(tests[0])).is_dir():
                continue
            if leads_out_of_root(folder, session.config.rootpath):
                continue
            left_out = [item.nodeid for item in tests if item.nodeid not in selected]
            if left_out:
                self.left_out[str(folder)] = left_out
            self.modules[str(folder)] = {item.nodeid: SnapshotStems.of(session).find(item) for item in tests}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which tests pass."""
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)
        elif report.failed:
            self.passed.discard(report.nodeid)

    def note_asserted(self, location: str) -> None:
        """Note that a test has compared with a snapshot, by the path of its file."""
        self.asserted.add(location)

    def note_sent(self, place: RecordingPlace, sent: Iterable[SentRequest]) -> None:
        """Note what a test has sent.

        Args:
            place: of its recording.
            sent: in any order.
        """
        # Most runs send nothing in ordinary tests.
        from pytest_chatprompt.capture.recording.recorded_exchange import recorded_request  # noqa: PLC0415

        self.sent[str(place.path)] = [recorded_request(each, place.masks.apply).sha256 for each in sent]

    def as_data(self) -> dict[str, Any]:
        """The notes as data, for `merge` in another process."""
        return {
            "modules": self.modules,
            "left_out": self.left_out,
            "passed": list(self.passed),
            "asserted": list(self.asserted),
            "sent": self.sent,
        }

    def merge(self, data: dict[str, Any]) -> None:
        """Add what a worker noted."""
        self.modules |= data["modules"]
        self.left_out |= data["left_out"]
        self.passed |= set(data["passed"])
        self.asserted |= set(data["asserted"])
        self.sent |= data["sent"]

    def find_unused(self) -> Iterable[Path]:
        """The snapshots and recordings that no test uses, of the modules that were selected whole."""
        asserted = {Path(path) for path in self.asserted}
        for folder in self.modules.keys() - self.left_out.keys():
            yield from self._unused_in(folder, asserted)

    def find_uses(self) -> Iterator[tuple[str, list[str], list[Path]]]:
        """The modules, each with the tests that were left out, and the snapshots that no selected test uses."""
        asserted = {Path(path) for path in self.asserted}
        for folder, tests in self.modules.items():
            path, _, _ = next(iter(tests)).partition("::")
            yield path, self.left_out.get(folder, []), self._unused_in(folder, asserted)

    def _unused_in(self, folder: str, asserted: set[Path]) -> list[Path]:
        tests = self.modules[folder]
        # A selected test that did not pass may use any snapshot of its name.
        sure = self.passed.union(self.left_out.get(folder, ()))
        unsure = [stem for node_id, stem in tests.items() if node_id not in sure]
        return unused_test_snapshots(Path(folder), asserted, tests.values(), unsure)


def _files_of_named_tests(config: pytest.Config) -> set[Path]:
    """The files of which the command line names single tests."""
    names = [str(argument).partition("::") for argument in config.args]
    # As pytest does: links stay.
    return {Path(os.path.normpath(config.invocation_params.dir / path)) for path, separator, _ in names if separator}
