"""Collection: an eval file is a module of pytest, and each of its cases a function item.

`EvalFile` reads the file and makes an `EvalItem` for each case and provider, and for each parameter of a
parametrized fixture that they ask for, so that fixtures, marks, selection, reruns, xdist and reports work
as they do for any test function.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from pytest_chatprompt.case import EvalCase
from pytest_chatprompt.errors import EvalFileError, Problem
from pytest_chatprompt.eval_file import BrokenCase, load_eval_file
from pytest_chatprompt.eval_item import EvalItem
from pytest_chatprompt.naming import folded, node_name, snapshot_stems
from pytest_chatprompt.options import is_eval_file, settings_key, snapshot_dirname
from pytest_chatprompt.templates import Templates, check_case, graders, id_of


class EvalFile(pytest.Module):
    """An eval file.

    Attributes:
        node_ids: of all items that it defines.
        stems: the names of all snapshots that it defines.
        is_whole: whether all of its cases could be read.
    """

    node_ids: frozenset[str] = frozenset()
    stems: tuple[str, ...] = ()
    is_whole: bool = False

    def _getobj(self) -> ModuleType:
        # Documented as the place to override: there is no Python module to import.
        module = ModuleType(self.path.stem)
        module.__file__ = str(self.path)
        return module

    @cached_property
    def _found(self) -> _Found:
        """What the eval files before this one found out."""
        return self.config.stash.setdefault(_found_key, _Found())

    @cached_property
    def snapshot_folder(self) -> Path:
        """Where the snapshots of its cases are."""
        return self.path.parent / snapshot_dirname(self.config) / self.path.stem

    def collect(self) -> Iterable[pytest.Item]:
        """Make the items, in the order of the file.

        Raises:
            CollectError: the file cannot be read, or another one would share its snapshots.
        """
        settings = self.config.stash[settings_key]
        if not self.config.pluginmanager.hasplugin("syrupy"):
            raise self.CollectError(f"{self.nodeid}: eval files need the plugin syrupy, which is switched off")
        self._refuse_shared_folder(settings.file_patterns)
        try:
            loaded = load_eval_file(self.path, self.config.rootpath, settings.guideline_patterns)
        except EvalFileError as error:
            raise self.CollectError(str(error)) from None
        with_arguments = _markers_with_arguments(self.config)
        cases = [_with_usable_tags(case, with_arguments) for case in loaded]
        templates = Templates(self)
        items = [item for case in cases for item in self._items(case, templates)]
        for item, stem in zip(items, snapshot_stems([(item.case.id, item.label) for item in items]), strict=True):
            item.snapshot_stem = stem
        self.node_ids = frozenset(item.nodeid for item in items)
        self.stems = tuple(item.snapshot_stem for item in items)
        self.is_whole = not any(isinstance(case, BrokenCase) for case in cases)
        return items

    def _refuse_shared_folder(self, patterns: Sequence[str]) -> None:
        others = [
            path.name
            for path in self._of_same_stem()
            if path != self.path and (is_eval_file(path, patterns) or path.suffix in (".py", ".pyi")) and path.is_file()
        ]
        if others:
            raise self.CollectError(
                f"{self.nodeid}: {' and '.join(others)} would keep snapshots in the same folder, "
                f"{self.snapshot_folder.relative_to(self.path.parent).as_posix()}; rename one of them"
            )

    def _of_same_stem(self) -> list[Path]:
        """The files beside this one that have its name, but for the extension; each folder is listed once."""
        folder, by_stem = self.path.parent, self._found.by_stem
        if folder not in by_stem:
            by_stem[folder] = defaultdict(list)
            for path in sorted(folder.iterdir()):
                by_stem[folder][folded(path.stem)].append(path)
        return by_stem[folder][folded(self.path.stem)]

    def _items(self, case: EvalCase | BrokenCase, templates: Templates) -> Iterator[EvalItem]:
        settings = self.config.stash[settings_key]
        asked = case.provider if isinstance(case, EvalCase) else None
        is_list = isinstance(asked, tuple) and settings.provider is None
        names = asked if isinstance(asked, tuple) else (asked,)
        self._declare(case.tags)
        for name in names if is_list else names[:1]:
            provider_name = settings.provider or name or settings.default_provider
            plain = templates.of(provider_name, in_id=False)
            # The label has the provider's name as it is; pytest escapes it in ids.
            for template, without in zip(templates.of(provider_name, in_id=is_list), plain, strict=True):
                yield self._item(case, provider_name, template, parameters=id_of(without))

    def _declare(self, tags: Iterable[str]) -> None:
        """Register tags as markers: a tag is declared by being used, so `--strict-markers` has nothing to object to."""
        for tag in tags:
            if tag not in self._found.declared:
                self._found.declared.add(tag)
                self.config.addinivalue_line("markers", f"{tag}: a tag of eval cases")

    def _item(
        self, case: EvalCase | BrokenCase, provider_name: str, template: pytest.Function, *, parameters: str
    ) -> EvalItem:
        callspec = getattr(template, "callspec", None)
        base = node_name(case.id)
        bracket = id_of(template)
        item = EvalItem.from_parent(
            self,
            name=f"{base}[{bracket}]" if bracket else base,
            originalname=base,
            callobj=check_case,
            callspec=callspec,
            # The constructor takes it and no public attribute gives it: without it, values that
            # `pytest_generate_tests` puts in place of a fixture would be lost.
            fixtureinfo=template._fixtureinfo,
            case=case,
            provider_name=provider_name,
            label="-".join(filter(None, (provider_name, parameters))),
            graders=graders(template),
        )
        for tag in case.tags:
            item.add_marker(tag)
        return item


@dataclass(eq=False, slots=True)
class _Found:
    """What the eval files of a run share, so that each finds out only what is new.

    Args:
        declared: the tags that are declared as markers.
        by_stem: of each folder the files, by what stands before the extension.
    """

    declared: set[str] = field(default_factory=set)
    by_stem: dict[Path, dict[str, list[Path]]] = field(default_factory=dict)


_found_key: Final = pytest.StashKey[_Found]()


def _markers_with_arguments(config: pytest.Config) -> set[str]:
    """The markers that are declared with arguments, as in `timeout(seconds): ...`; `skip` and `xfail` go without."""
    declared = (line.partition(":")[0] for line in config.getini("markers"))
    return {line.partition("(")[0] for line in declared if "(" in line} - {"skip", "xfail"}


def _with_usable_tags(case: EvalCase | BrokenCase, with_arguments: set[str]) -> EvalCase | BrokenCase:
    """The case, or what is wrong with it if a tag of it is a marker that takes arguments."""
    unusable = [tag for tag in case.tags if tag in with_arguments]
    if not unusable or isinstance(case, BrokenCase):
        return case
    origin = case.origin
    told = f"the tag {unusable[0]!r} is a marker that takes arguments, and a tag has none; call it something else"
    place = origin.find("tags")
    error = EvalFileError([Problem(origin.shown_path, place.line, place.column, told, case_id=case.id)])
    return BrokenCase(case.id, tuple(tag for tag in case.tags if tag not in unusable), case.line, error)
