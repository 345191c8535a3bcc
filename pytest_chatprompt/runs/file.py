"""The eval file: a module of pytest, whose cases are function items.

So fixtures, marks, selection, reruns, xdist and reports work as they do for any test function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.cases.case import EvalCase, case_diagnostic
from pytest_chatprompt.cases.lint import find_literal_template
from pytest_chatprompt.cases.loader import DEFAULT_TARGET, LoadedCase, load_eval_file
from pytest_chatprompt.errors import Diagnostic, EvalFileError, SnapshotError
from pytest_chatprompt.options import is_eval_file, options_key, snapshot_dirname
from pytest_chatprompt.runs.item import ITEM_PARAMETER, RESPONSE_FIXTURE, EvalItem
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.snapshots.files import node_name, normalized_name, refuse_folder_outside_root, snapshot_stems
from pytest_chatprompt.text.files import TARGETS, find_agentv_file
from pytest_chatprompt.wording import grouped, shown_path, visible_line

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import Provider


def run_case(  # noqa: PLR0913, PLR0917 - the fixtures that users override: pytest reads them from the signature
    request: pytest.FixtureRequest,
    eval_case: EvalCase,
    eval_request: ProviderRequest,
    eval_provider: Provider,
    eval_api: EvalAPI,
    eval_snapshot: SnapshotAssertion,
    eval_masks: Mapping[Any, Any],
) -> None:
    """Compare what the case sends with its snapshot; in live and replayed runs, get the response and check it."""
    __tracebackhide__ = True
    # Collecting needs none of it.
    from pytest_chatprompt.runs.case_run import CaseRun, run  # noqa: PLC0415

    run(CaseRun(request, eval_case, eval_request, eval_provider, eval_api, eval_snapshot, eval_masks))


class EvalFile(pytest.Module):
    """An eval file, collected as a module whose functions are its cases.

    Attributes:
        node_ids: those of its items.
        unresolved: those of items whose provider has no fixture: its name may be a mistake.
        plain_providers: the names of its providers that are built-in ones, which no fixture of the project overrides.
        is_complete: whether each of its cases is valid.
    """

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
    def snapshot_folder(self) -> Path:
        """The folder of its snapshots; need not exist."""
        return self.path.parent / snapshot_dirname(self.config) / self.path.stem

    def collect(self) -> Iterable[pytest.Item]:
        """Make the items, in the order of the file."""
        options, shared = self.config.stash[options_key], SharedByRun.of(self.config)
        if not self.config.pluginmanager.hasplugin("syrupy"):
            raise self.CollectError(f"{self.nodeid}: eval files need the plugin syrupy, which is switched off")
        self._refuse_shared_folder(options.file_patterns)
        try:
            # Nothing is written or deleted where a link leads out of the root.
            refuse_folder_outside_root(self.snapshot_folder, self.config.rootpath)
            loaded = load_eval_file(
                self.path, self.config.rootpath, options.guideline_patterns, warn=shared.file_warnings.append
            )
        except SnapshotError as error:
            raise self.CollectError(f"{self.nodeid}: {error}") from error
        except EvalFileError as error:
            raise self.CollectError(str(error)) from None
        # Markers with arguments, as in `timeout(seconds): ...`; `skip` and `xfail` work without, `name()` has none.
        markers = (line.partition(":")[0] for line in self.config.getini("markers"))
        reserved = {each.partition("(")[0] for each in markers if "(" in each and "()" not in each} - {"skip", "xfail"}
        cases = [_check_tags(case, reserved) for case in loaded]
        # Each once, also if it has several rows.
        written = list({case.id: case.written for case in cases if isinstance(case.written, EvalCase)}.values())
        literal = find_literal_template(written)
        shared.file_warnings += [] if literal is None else [literal]
        self._names: list[tuple[str, str]] = []
        items = [item for case in cases for item in self._items(case)]
        labels = list(dict.fromkeys((item.case.id, item.label) for item in items))
        stems = dict(zip(labels, snapshot_stems(labels), strict=True))
        for item in items:
            item.snapshot_stem = stems[item.case.id, item.label]
        self.node_ids = frozenset(item.nodeid for item in items)
        names = {item.provider_name for item in items}
        is_known = {name: bool(self._definitions(self.provider_fixture(name))) for name in names}
        self.plain_providers = frozenset(filter(self._has_only_built_in, names))
        self.unresolved = frozenset(item.nodeid for item in items if not is_known[item.provider_name])
        self.stems = tuple(stems.values())
        self.is_complete = all(isinstance(case.written, EvalCase) for case in cases)
        self._warn_of_default_target(written)
        return items

    def _warn_of_default_target(self, cases: Iterable[EvalCase]) -> None:
        """Warn if AgentV would send cases that name no provider to another one than this run, and nobody has chosen."""
        options = self.config.stash[options_key]
        case = next((case for case in cases if case.provider is None), None)
        is_chosen = options.provider is not None or self.config.getini("chatprompt_provider")
        if case is None or is_chosen or find_agentv_file(self.path.parent, self.config.rootpath, *TARGETS) is None:
            return
        from pytest_chatprompt.runs.named_providers import Targets  # noqa: PLC0415 - few projects have targets

        default = Targets.of(self.config).describe_default(self.path.parent, options.default_provider)
        if default:
            position = case.origin.position_of_provider(DEFAULT_TARGET) or case.origin.position
            text = (
                f"AgentV would send the cases that name no other target to {default}, but they are sent to "
                f"{options.default_provider}; set the ini value chatprompt_provider to {DEFAULT_TARGET!r}, which is "
                f"that target, or to {options.default_provider!r}"
            )
            SharedByRun.of(self.config).file_warnings.append(Diagnostic(case.origin.shown_path, *position, text))

    def provider_fixture(self, name: str) -> str:
        """The name of the fixture that gives the provider of a name, or that of a target; it need not exist."""
        if not self._definitions(f"{name}_provider"):
            from pytest_chatprompt.runs.named_providers import Targets  # noqa: PLC0415 - few projects have targets

            # Each case that asks for an invalid one reports it.
            with suppress(EvalFileError):
                target = Targets.of(self.config).find(name, self.path.parent)
                name = name if target is None else target.provider
        return f"{name}_provider"

    def _has_only_built_in(self, name: str) -> bool:
        definitions = self._definitions(f"{name}_provider")
        return len(definitions) == 1 and getattr(definitions[0].func, "is_built_in", False)

    def _definitions(self, name: str) -> Sequence[Any]:
        # Pytest has no public way to ask which fixtures apply to a node before the node is set up.
        manager: Any = self.session._fixturemanager
        return manager.getfixturedefs(name, self) or ()

    def stems_without_parameters(self) -> tuple[str, ...]:
        """The names that the snapshots of all cases would have if no fixture had parameters."""
        return snapshot_stems(tuple(dict.fromkeys(self._names)))

    def _refuse_shared_folder(self, patterns: Sequence[str]) -> None:
        folder, by_stem = self.path.parent, SharedByRun.of(self.config).files_by_stem
        if folder not in by_stem:
            by_stem[folder] = grouped((normalized_name(path.stem), path) for path in sorted(folder.iterdir()))
        others = [
            path.name
            for path in by_stem[folder][normalized_name(self.path.stem)]
            if path != self.path
            and (is_eval_file(path, patterns, self.config.rootpath) or path.suffix in (".py", ".pyi"))
            and path.is_file()
        ]
        if others:
            raise self.CollectError(
                f"{self.nodeid}: {' and '.join(others)} would keep snapshots in the same folder, "
                f"{self.snapshot_folder.relative_to(folder).as_posix()}; rename one of them"
            )

    def _items(self, case: LoadedCase) -> Iterator[EvalItem]:
        """The items of a case; its id and labels without parameters are added to the names."""
        options, markers = self.config.stash[options_key], SharedByRun.of(self.config).markers
        requested = case.written.provider if isinstance(case.written, EvalCase) else None
        is_list = isinstance(requested, tuple) and options.provider is None
        names = requested if isinstance(requested, tuple) else (requested,)
        for tag in case.tags:
            if tag not in markers:
                # `--strict-markers` accepts every tag that is used.
                markers.add(tag)
                self.config.addinivalue_line("markers", f"{tag}: a tag of eval cases")
        base = node_name(case.id)
        for name in names if is_list else names[:1]:
            provider_name = options.provider or name or options.default_provider
            self._names.append((case.id, "-".join(filter(None, (provider_name, case.row_id)))))
            in_front = "-".join(filter(None, (provider_name if is_list else None, case.row_id)))
            for template in self._templates(provider_name):
                callspec = callspec_with(template, node_name(in_front))
                parameters = template.callspec._idlist[1:]
                item = EvalItem.from_parent(
                    self,
                    name=base if callspec is None else f"{base}[{callspec.id}]",
                    originalname=base,
                    callobj=run_case,
                    callspec=callspec,
                    # Not public. Without it the values would be lost that a `pytest_generate_tests` puts in place of a
                    # fixture.
                    fixtureinfo=template._fixtureinfo,
                    response_fixtures=response_fixtures(template),
                )
                item.case = case
                item.provider_name = provider_name
                # As it is, while pytest escapes it in ids.
                item.label = "-".join(filter(None, (provider_name, case.row_id, *parameters)))
                item.snapshot_folder = self.snapshot_folder
                for tag in case.tags:
                    item.add_marker(tag)
                yield item

    def _templates(self, provider_name: str) -> list[pytest.Function]:
        """The templates of the cases of a provider, at least one.

        Cases that go through the same provider have the same combinations of parameters, and so have the files of one
        folder, where the same fixtures apply. So pytest is asked once for each folder and provider.
        """
        known = self._templates_owner.stash.setdefault(_templates_key, {})
        if provider_name not in known:
            without_provider = self._make_templates()
            # The provider's fixture is looked up when the case runs. If it is parametrized, pytest has to know before.
            with_provider = self._make_templates(self.provider_fixture(provider_name))
            more, less = (len(templates[0].callspec.params) for templates in (with_provider, without_provider))
            known[provider_name] = with_provider if more > less else without_provider
        return known[provider_name]

    @cached_property
    def _templates_owner(self) -> pytest.Collector:
        """The folder, or the file itself if files of one folder may need different templates.

        They may if a file has marks of its own, or if a `pytest_generate_tests` that is neither pytest's nor ours looks
        at the file.
        """
        plugins = (implementation.plugin for implementation in self.ihook.pytest_generate_tests.get_hookimpls())
        # pytest does not mark the plugins that are its own; the name of its private package does.
        modules = (getattr(plugin, "__name__", type(plugin).__module__) for plugin in plugins)
        has_others = any(not module.startswith(("_pytest.", "pytest_chatprompt.")) for module in modules)
        return self if self.own_markers or has_others or self.parent is None else self.parent

    def _make_templates(self, *fixture_names: str) -> list[pytest.Function]:
        """Let pytest collect a copy of the test function that uses more fixtures."""
        name = run_case.__name__
        function = FunctionType(run_case.__code__, run_case.__globals__, name)
        marks = [pytest.mark.usefixtures(ITEM_PARAMETER, *fixture_names).mark]
        function.__dict__.update(__test__=True, pytestmark=marks)
        setattr(self.obj, name, function)
        return list(self.ihook.pytest_pycollect_makeitem(collector=self, name=name, obj=function))


def _check_tags(case: LoadedCase, reserved: set[str]) -> LoadedCase:
    """The case; an invalid one if one of its tags is a marker that takes arguments."""
    unusable = [tag for tag in case.tags if tag in reserved]
    if not unusable or isinstance(case.written, EvalFileError):
        return case
    text = f"the tag {unusable[0]!r} is a marker that takes arguments, and a tag has none; rename the tag"
    error = EvalFileError([case_diagnostic(case.written, text, "tags")])
    return case._replace(tags=tuple(tag for tag in case.tags if tag not in unusable), written=error)


_templates_key: Final = pytest.StashKey[dict[str, list[pytest.Function]]]()
_response_fixtures_key: Final = pytest.StashKey[tuple[str, ...]]()


def callspec_with(template: pytest.Function, in_front: str) -> Any:
    """The parameters of an item: those of its template, and in front the provider and the row; `None` for none."""
    callspec = template.callspec
    parameters = {**callspec.params, ITEM_PARAMETER: in_front}
    if not in_front:
        del parameters[ITEM_PARAMETER]
    # Not public: asking pytest for each row would make another item for it, and take as long again.
    names = [*filter(None, [in_front]), *callspec._idlist[1:]]
    return replace(callspec, params=parameters, _idlist=names) if parameters else None


def response_fixtures(template: pytest.Function) -> tuple[str, ...]:
    """The names of the fixtures that use the response, themselves or through other fixtures."""
    if _response_fixtures_key not in template.stash:
        # Not public either; it has every definition of a fixture, also of overridden ones, and what each of them uses.
        definitions = template._fixtureinfo.name2fixturedefs
        users: set[str] = set()
        more = {RESPONSE_FIXTURE}
        while not more <= users:
            users |= more
            more = {name for name, each in definitions.items() if any(users & {*one.argnames} for one in each)}
        users.remove(RESPONSE_FIXTURE)
        template.stash[_response_fixtures_key] = tuple(name for name in template.fixturenames if name in users)
    return template.stash[_response_fixtures_key]
