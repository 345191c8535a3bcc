"""The eval file: a module of pytest, whose cases are function items.

A path comes in from `plugin`; `EvalItem`s come out, one for each case, provider and parameter of a parametrized fixture
that they use. So fixtures, marks, selection, reruns, xdist and reports work as they do for any test function.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from pytest_chatprompt.errors import EvalFileError, SnapshotError
from pytest_chatprompt.eval_file_names import is_eval_file
from pytest_chatprompt.evalfile.case import EvalCase, case_diagnostic
from pytest_chatprompt.evalfile.case_template import written_cases
from pytest_chatprompt.evalfile.loader import InvalidCase, LoadedCase, load_eval_file
from pytest_chatprompt.evalfile.unrendered_templates import find_literal_template
from pytest_chatprompt.items.agentv_providers import has_provider, provider_fixture_of
from pytest_chatprompt.items.case_function import run_case
from pytest_chatprompt.items.file_warnings import FileWarnings
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.item_templates import (
    ItemTemplates,
    callspec_of_row,
    fixture_info,
    response_fixtures,
    snapshot_parameters,
)
from pytest_chatprompt.items.tags import TagUses
from pytest_chatprompt.options import options_key, snapshot_dirname
from pytest_chatprompt.snapshots.files import refuse_folder_outside_root
from pytest_chatprompt.snapshots.names import node_name, normalized_name, snapshot_stems
from pytest_chatprompt.wording import shown_path, visible_line


class EvalFile(pytest.Module):
    """An eval file, collected as a module whose functions are its cases.

    Attributes:
        node_ids: the node ids of all items that it defines.
        unresolved: those of items whose provider has no fixture: its name may be a mistake.
        stems: the names of all snapshots that it defines.
        is_complete: whether every case is valid.
    """

    node_ids: frozenset[str] = frozenset()
    unresolved: frozenset[str] = frozenset()
    stems: tuple[str, ...] = ()
    is_complete: bool = False
    _names: Sequence[tuple[str, str]] = ()

    @classmethod
    def of_path(cls, path: Path, parent: pytest.Collector) -> EvalFile:
        """The collector of a file; a path that would change the line on which it is shown is escaped in node ids."""
        shown = shown_path(path, parent.config.rootpath)
        is_harmless = "::" not in shown and visible_line(shown) == shown
        node_id: Any = None if is_harmless else node_name(shown)
        return cls.from_parent(parent, path=path, nodeid=node_id)

    def _getobj(self) -> ModuleType:
        # pytest documents this as the method to override. There is no Python module to import.
        module = ModuleType(self.path.stem)
        module.__file__ = str(self.path)
        return module

    @cached_property
    def _shared(self) -> _SharedByFiles:
        return self.config.stash.setdefault(_shared_key, _SharedByFiles())

    @cached_property
    def snapshot_folder(self) -> Path:
        """The folder of its snapshots; need not exist."""
        return self.path.parent / snapshot_dirname(self.config) / self.path.stem

    def collect(self) -> Iterable[pytest.Item]:
        """Make the items, in the order of the file.

        Raises:
            CollectError: the file is invalid, or another one would share its snapshots.
        """
        options = self.config.stash[options_key]
        if not self.config.pluginmanager.hasplugin("syrupy"):
            raise self.CollectError(f"{self.nodeid}: eval files need the plugin syrupy, which is switched off")
        self._refuse_shared_folder(options.file_patterns)
        self._refuse_folder_outside_root()
        file_warnings = FileWarnings.of(self.config)
        try:
            loaded = load_eval_file(self.path, self.config.rootpath, options.guideline_patterns, warn=file_warnings.add)
        except EvalFileError as error:
            raise self.CollectError(str(error)) from None
        tag_uses = TagUses.of(self.config)
        reserved = _markers_with_arguments(self.config)
        cases = [_check_tags(case, reserved) for case in loaded]
        written = list(written_cases(cases))
        file_warnings.add(find_literal_template(written))
        for case in written:
            tag_uses.add(case)
        templates = ItemTemplates(self, run_case, partial(provider_fixture_of, file=self))
        names: list[tuple[str, str]] = []
        self._names = names
        items = [item for case in cases for item in self._items(case, templates, names)]
        # Runs of pytest-repeat share a name.
        self._refuse_equal_names(items)
        labels = list(dict.fromkeys((item.case.id, item.label) for item in items))
        stems = dict(zip(labels, snapshot_stems(labels), strict=True))
        for item in items:
            item.snapshot_stem = stems[item.case.id, item.label]
        self.node_ids = frozenset(item.nodeid for item in items)
        unknown = {name for name in {item.provider_name for item in items} if not has_provider(name, self)}
        self.unresolved = frozenset(item.nodeid for item in items if item.provider_name in unknown)
        self.stems = tuple(stems.values())
        self.is_complete = not any(isinstance(case, InvalidCase) for case in cases)
        return items

    def stems_without_parameters(self) -> tuple[str, ...]:
        """The names that the snapshots of all cases would have if no fixture had parameters."""
        return snapshot_stems(tuple(dict.fromkeys(self._names)))

    def _refuse_shared_folder(self, patterns: Sequence[str]) -> None:
        others = [
            path.name
            for path in self._files_of_same_stem()
            if path != self.path
            and (is_eval_file(path, patterns, self.config.rootpath) or path.suffix in (".py", ".pyi"))
            and path.is_file()
        ]
        if others:
            raise self.CollectError(
                f"{self.nodeid}: {' and '.join(others)} would keep snapshots in the same folder, "
                f"{self.snapshot_folder.relative_to(self.path.parent).as_posix()}; rename one of them"
            )

    def _refuse_folder_outside_root(self) -> None:
        """Refuse a snapshot folder that a link leads out of the root: nothing is written or deleted there."""
        try:
            refuse_folder_outside_root(self.snapshot_folder, self.config.rootpath)
        except SnapshotError as error:
            raise self.CollectError(f"{self.nodeid}: {error}") from error

    def _files_of_same_stem(self) -> list[Path]:
        """The files of this folder with the same name and another extension; each folder is listed once."""
        folder, by_stem = self.path.parent, self._shared.files_by_stem
        if folder not in by_stem:
            by_stem[folder] = defaultdict(list)
            for path in sorted(folder.iterdir()):
                by_stem[folder][normalized_name(path.stem)].append(path)
        return by_stem[folder][normalized_name(self.path.stem)]

    def _refuse_equal_names(self, items: Iterable[EvalItem]) -> None:
        """Refuse items of different rows with one name: `a-b` may be the row `a-b`, or the row `a` with a parameter."""
        rows: dict[tuple[str, str], str | None] = {}
        for item in items:
            if not isinstance(item.case, EvalCase):
                row_id = item.case.row_id
                first = rows.setdefault((item.case.id, item.label), row_id)
                if first != row_id:
                    raise self.CollectError(
                        f"{item.nodeid}: the rows {first!r} and {row_id!r} have the same name once a provider or "
                        "parameters are added; rename one of them"
                    )

    def _items(self, case: LoadedCase, templates: ItemTemplates, defined: list[tuple[str, str]]) -> Iterator[EvalItem]:
        """The items of a case; its id and labels without parameters are added to those that are defined."""
        options = self.config.stash[options_key]
        requested = None if isinstance(case, InvalidCase) else case.provider
        row_id = None if isinstance(case, EvalCase) else case.row_id
        is_list = isinstance(requested, tuple) and options.provider is None
        names = requested if isinstance(requested, tuple) else (requested,)
        self._register_markers(case.tags)
        for name in names if is_list else names[:1]:
            provider_name = options.provider or name or options.default_provider
            without_name = templates.get(provider_name, in_id=False)
            with_name = templates.get(provider_name, in_id=is_list, has_row=row_id is not None)
            defined.append((case.id, "-".join(filter(None, (provider_name, row_id)))))
            # The label has the provider's name as it is, while pytest escapes it in ids.
            for template, unnamed in zip(with_name, without_name, strict=True):
                label = "-".join(filter(None, (provider_name, row_id, snapshot_parameters(unnamed))))
                yield self._item(case, provider_name, template, label=label, row_id=row_id)

    def _register_markers(self, tags: Iterable[str]) -> None:
        """Register tags as markers, so that `--strict-markers` accepts every tag that is used."""
        for tag in tags:
            if tag not in self._shared.markers:
                self._shared.markers.add(tag)
                self.config.addinivalue_line("markers", f"{tag}: a tag of eval cases")

    def _item(
        self, case: LoadedCase, provider_name: str, template: pytest.Function, *, label: str, row_id: str | None
    ) -> EvalItem:
        base = node_name(case.id)
        callspec = callspec_of_row(template, None if row_id is None else node_name(row_id))
        item = EvalItem.from_parent(
            self,
            name=base if callspec is None else f"{base}[{callspec.id}]",
            originalname=base,
            callobj=run_case,
            callspec=callspec,
            fixtureinfo=fixture_info(template),
            case=case,
            provider_name=provider_name,
            label=label,
            response_fixtures=response_fixtures(template),
            snapshot_folder=self.snapshot_folder,
        )
        for tag in case.tags:
            item.add_marker(tag)
        return item


@dataclass(eq=False, slots=True)
class _SharedByFiles:
    """What the eval files of a run share, so that no file computes it again.

    Args:
        markers: the tags that are registered as markers.
        files_by_stem: for each folder its files, by their names without extension.
    """

    markers: set[str] = field(default_factory=set)
    files_by_stem: dict[Path, dict[str, list[Path]]] = field(default_factory=dict)


_shared_key: Final = pytest.StashKey[_SharedByFiles]()


def _markers_with_arguments(config: pytest.Config) -> set[str]:
    """The markers registered with arguments, as in `timeout(seconds): ...`; `skip` and `xfail` work without any."""
    registered = (line.partition(":")[0] for line in config.getini("markers"))
    # Empty brackets mean no arguments.
    return {line.partition("(")[0] for line in registered if "(" in line and "()" not in line} - {"skip", "xfail"}


def _check_tags(case: LoadedCase, reserved: set[str]) -> LoadedCase:
    """The case; an invalid one if one of its tags is a marker that takes arguments."""
    unusable = [tag for tag in case.tags if tag in reserved]
    if not unusable or isinstance(case, InvalidCase):
        return case
    text = f"the tag {unusable[0]!r} is a marker that takes arguments, and a tag has none; rename the tag"
    written = case if isinstance(case, EvalCase) else case.case
    error = EvalFileError([case_diagnostic(written, text, "tags")])
    tags = tuple(tag for tag in case.tags if tag not in unusable)
    return InvalidCase(case.id, tags, case.line, error, case.row_id)
