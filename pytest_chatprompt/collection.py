"""Collection: an eval file is a module of pytest, and each of its cases a function item.

`EvalFile` reads the file and makes an `EvalItem` for each case and provider, and for each parameter of a
parametrized fixture that they ask for, so that fixtures, marks, selection, reruns, xdist and reports work
as they do for any test function.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

import pytest

from pytest_chatprompt.case import EvalCase
from pytest_chatprompt.errors import EvalFileError, PayloadError, PayloadWarning, Problem
from pytest_chatprompt.eval_file import BrokenCase, load_eval_file
from pytest_chatprompt.failures import OWN_ERRORS, first_line, plain
from pytest_chatprompt.naming import folded, node_name, snapshot_stems
from pytest_chatprompt.options import is_eval_file, settings_key, snapshot_dirname
from pytest_chatprompt.templates import RESPONSE, Templates, check_case, graders, id_of
from pytest_chatprompt.yaml_source import Place

ANSWER_SUFFIX: Final = ".answer.yaml"


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


class EvalItem(pytest.Function):
    """A case that goes through a provider.

    Attributes:
        case: the case, or what is wrong with it.
        provider_name: the name of the provider that was asked for.
        label: what stands in the bracket of its snapshot's name: the provider, and the parameters.
        snapshot_stem: the file name of its snapshot, without extension.
        graders: the project's own fixtures that look at the answer; they are set up when there is one.
    """

    snapshot_stem: str

    def __init__(
        self,
        *,
        case: EvalCase | BrokenCase,
        provider_name: str,
        label: str,
        graders: tuple[str, ...],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.graders = graders
        if graders:
            self.fixturenames = [name for name in self.fixturenames if name not in (*graders, RESPONSE)]
        self.case = case
        self.provider_name = provider_name
        self.label = label

    @property
    def file(self) -> EvalFile:
        """The eval file that it is of."""
        return cast(EvalFile, self.parent)

    @property
    def line(self) -> int:
        """The 1-based line on which the case begins."""
        return self.case.line

    @property
    def snapshot_folder(self) -> Path:
        """Where its snapshot is, and its recorded answer."""
        return self.file.snapshot_folder

    @property
    def snapshot_path(self) -> Path:
        """The file of its snapshot."""
        return self.snapshot_folder / f"{self.snapshot_stem}.yaml"

    @property
    def answer_path(self) -> Path:
        """The file of its recorded answer."""
        return self.snapshot_folder / f"{self.snapshot_stem}{ANSWER_SUFFIX}"

    def readable_case(self) -> EvalCase:
        """The case.

        Raises:
            EvalFileError: it could not be read.
        """
        if isinstance(self.case, BrokenCase):
            raise self.case.error
        return self.case

    def warn(self, warning: Warning) -> None:
        """Issue a warning, at the line of the message that it is about, or of the case."""
        place = self._place_of(warning)
        warnings.warn_explicit(
            warning, category=None, filename=str(self.path), lineno=place.line if place else self.line
        )

    def located(self, error: Exception) -> str:
        """An error's text, with the place in the eval file in front: of the message that it names, or of the case."""
        if isinstance(error, EvalFileError):
            return str(error)
        place = self._place_of(error)
        if place is None or isinstance(self.case, BrokenCase):
            # A fixture of the user's own went on without the case.
            return f"{self.nodeid}: {error}"
        return str(Problem(self.case.origin.shown_path, place.line, place.column, str(error), case_id=self.case.id))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """An error of this package by its text alone, at the place of the case; others as pytest has them."""
        error = excinfo.value
        if not isinstance(error, OWN_ERRORS) or self.config.option.fulltrace:
            return super().repr_failure(excinfo, *args, **kwargs)
        shown: Any = super().repr_failure(plain(self.located(error)))
        # Where the case stands, not where this package raised: `--tb=line`, JUnit and CI annotations show it.
        shown.reprcrash.path, shown.reprcrash.lineno = str(self.path), self.line
        shown.reprcrash.message = first_line(error)
        return shown

    def _place_of(self, told: Exception) -> Place | None:
        """Where in the file the message stands that an error or a warning is about, or else the case."""
        if isinstance(self.case, BrokenCase):
            return None
        origin = self.case.origin
        number = told.message_number if isinstance(told, PayloadError | PayloadWarning) else None
        return origin.place if number is None else origin.find("input_messages", number - 1)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The place of the case, for reports: the file, its 0-based line, the name."""
        return self.path, self.line - 1, self.name
