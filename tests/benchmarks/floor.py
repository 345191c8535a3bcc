"""The floor: the least that an eval item can cost.

This plugin makes an item for each case and provider of an eval file. Each item compares one small dict with its
snapshot, through syrupy's single-file extension. It validates nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class FloorExtension(SingleFileSnapshotExtension):
    file_extension = "txt"
    _write_mode = WriteMode.TEXT

    def serialize(self, data: Any, **_: Any) -> str:
        return repr(data)


def run_case(request: pytest.FixtureRequest, snapshot: SnapshotAssertion) -> None:
    assert snapshot.use_extension(FloorExtension) == {"id": request.node.name}


class FloorFile(pytest.Module):
    def _getobj(self) -> ModuleType:
        return ModuleType(self.path.stem)

    def collect(self) -> Iterator[pytest.Item]:
        data = yaml.load(self.path.read_text(encoding="utf-8"), Loader=_LOADER)
        for case in data["evalcases"]:
            for provider in case.get("provider", [""]):
                name = f"{case['id']}[{provider}]" if provider else case["id"]
                item = pytest.Function.from_parent(self, name=name, callobj=run_case)
                for tag in case.get("tags", ()):
                    item.add_marker(tag)
                yield item


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> FloorFile | None:
    if file_path.name.endswith(".eval.yaml"):
        return FloorFile.from_parent(parent, path=file_path)
    return None
