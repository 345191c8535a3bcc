"""Names that stand for the provider of a fixture: variants of it such as `openai:gpt-5`, and targets of AgentV."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.cases.fields import split_provider_name
from pytest_chatprompt.cases.loader import DEFAULT_TARGET
from pytest_chatprompt.errors import EvalFileError, MissingSettingError, ProviderError, UnknownProviderError
from pytest_chatprompt.options import options_key
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.text.files import TARGETS, find_agentv_file
from pytest_chatprompt.wording import did_you_mean

if TYPE_CHECKING:
    from pytest_chatprompt.cases.agentv_settings import Target, TargetsFile
    from pytest_chatprompt.providers.response import Provider

# pytest shows no frame of this module.
__tracebackhide__ = True


def value_of_fixture(request: pytest.FixtureRequest, name: str) -> Provider | None:
    """The provider that the fixture `<name>_provider` gives; `None` if there is no such fixture."""
    fixture_name = f"{name}_provider"
    try:
        provider: Provider | None = request.getfixturevalue(fixture_name)
    except pytest.FixtureLookupError as error:
        if error.argname != fixture_name:
            raise
        return None
    if provider is None:
        raise ProviderError(f"the fixture '{fixture_name}' returns None; return a provider from it")
    return provider


@dataclass(eq=False)
class Targets:
    """The targets of a run."""

    config: pytest.Config
    # What was made of which provider, by the place of the target, the identity of the provider, and the folder.
    _configured: dict[tuple[str, int, Path], tuple[Provider, Provider]] = field(default_factory=dict)
    _files: dict[Path, TargetsFile] = field(default_factory=dict)
    _known: dict[tuple[str, str], Target] = field(default_factory=dict)

    @classmethod
    def of(cls, config: pytest.Config) -> Targets:
        """The targets of a run."""
        return config.stash.setdefault(_key, cls(config))

    def file(self, folder: Path) -> TargetsFile | None:
        """The file of targets that counts for the eval files of a folder; an `EvalFileError` if it is invalid."""
        path = find_agentv_file(folder, self.config.rootpath, *TARGETS)
        if path is None:
            return None
        if path not in self._files:
            from pytest_chatprompt.cases.agentv_settings import read_targets_file  # noqa: PLC0415 - few projects have targets

            self._files[path] = read_targets_file(path, self.config.rootpath)
        return self._files[path]

    def find(self, name: str, folder: Path) -> Target | None:
        """The target of a name, or a variant; `None` for neither; an `EvalFileError` if the file or it is invalid."""
        file = self.file(folder)
        if file is None or name not in file.nodes:
            provider, said = split_provider_name(name)
            if provider == name:
                return None
            from pytest_chatprompt.cases.agentv_settings import Target  # noqa: PLC0415 - few names are variants

            model = {"model": said} if said else {}
            return Target(name, place="", provider=provider, settings=model, agent=model)
        key = (file.shown_path, name)
        if key not in self._known:
            self._known[key] = file.read(name)
            SharedByRun.of(self.config).file_warnings += self._known[key].ineffective
        return self._known[key]

    def describe_default(self, folder: Path, provider: str) -> str:
        """What AgentV's target `default` says, if that is not just a provider; `""` if it is, or there is none."""
        try:
            file = self.file(folder)
        except EvalFileError:
            # Each case that asks for a target of it reports it.
            return ""
        if file is None or DEFAULT_TARGET not in file.nodes:
            return ""
        try:
            target = file.read(DEFAULT_TARGET)
        except EvalFileError as error:
            return f"the target 'default' ({error})"
        model = target.settings.get("model") or target.agent.get("model")
        if target.provider == provider and not (target.settings or target.agent or target.api_version):
            return ""
        return f"{target.provider}{f' with the model {model}' if model else ''} ({target.place})"

    def configure(self, provider: Provider, target: Target, folder: Path) -> Provider:
        """A provider with what a target says about it; the same again for the same provider.

        Working folders are relative to `folder`, that of the eval file.
        """
        key = (target.place or target.name, id(provider), folder)
        if key not in self._configured:
            configured = _configured(provider, target, folder, is_live=self.config.stash[options_key].live)
            self._configured[key] = (provider, configured)
        return self._configured[key][1]


_key: Final = pytest.StashKey[Targets]()


def existing_providers(request: pytest.FixtureRequest) -> set[str]:
    """The names of all providers that exist here."""
    return existing_names(request, "_provider") - {"eval"}


def existing_names(request: pytest.FixtureRequest, suffix: str) -> set[str]:
    """The names in front of a suffix of all fixtures that exist here, which pytest's error lists."""
    listed = None
    try:
        # There is no such fixture.
        request.getfixturevalue(suffix)
    except pytest.FixtureLookupError as error:
        # pytest has no public way to list the fixtures that a node can use, but the text of its error lists them.
        listed = re.search(r"available fixtures: (.*)", str(getattr(error.formatrepr(), "errorstring", "")))
    names = re.split(r",\s*", listed[1]) if listed else []
    return {name.removesuffix(suffix) for name in names if name.endswith(suffix)}


def provider_of_target(request: pytest.FixtureRequest, name: str) -> Provider:
    """The provider of a target, or the error that there is neither a provider nor a target of a name."""
    targets, folder = Targets.of(request.config), request.node.path.parent
    target = targets.find(name, folder)
    if target is not None and "command" in target.agent:
        from pytest_chatprompt.providers.agents.cli import CLIProvider  # noqa: PLC0415

        return targets.configure(CLIProvider(target.agent["command"]), target, folder)
    provider = None if target is None else value_of_fixture(request, target.provider)
    if target is not None and provider is not None:
        return targets.configure(provider, target, folder)
    available = existing_providers(request)
    names = ", ".join(sorted(available))
    if target is not None and target.place:
        raise UnknownProviderError(
            f"the target {name!r} ({target.place}) has the provider {target.provider!r}, which has no fixture; write a "
            f"fixture '{name}_provider' for the target, or change its provider to one of {names}"
        )
    file = targets.file(folder)
    options = targets.config.stash[options_key]
    origins = {options.ab_provider: " (from --chatprompt-ab)", options.provider: " (from --chatprompt-provider)"}
    origin = origins.get(name, "")
    name, _ = split_provider_name(name)
    suggestion = did_you_mean(name, sorted({*available, *(() if file is None else file.nodes)}))
    no_target = "" if file is None else f", and no such target in {file.shown_path}"
    raise UnknownProviderError(
        f"unknown provider {name!r}{origin}: there is no fixture '{name}_provider', only those of {names}{no_target}"
        + f"; {suggestion or 'write it in a conftest.py, to return an object with send(request), or a function'}"
    )


def _configured(provider: Provider, target: Target, folder: Path, *, is_live: bool) -> Provider:
    """A provider with what a target says about it: a copy, or itself if it is neither a chat provider nor an agent."""
    from pytest_chatprompt.apis.chat_provider import ChatProvider  # noqa: PLC0415
    from pytest_chatprompt.cases.agentv_settings import resolve_references  # noqa: PLC0415
    from pytest_chatprompt.providers.agents.base import AgentProvider  # noqa: PLC0415

    def resolve(text: str | None) -> str | None:
        """The text with the variables that it refers to; `None` offline, where none is needed."""
        if text is None or not is_live:
            return None
        try:
            return resolve_references(text, os.environ)
        except KeyError as error:
            raise MissingSettingError(
                f"the target {target.name!r} ({target.place}) needs the environment variable {error.args[0]}; set it"
            ) from None

    if isinstance(provider, ChatProvider):
        api_key, endpoint = resolve(target.api_key), resolve(target.endpoint)
        try:
            return provider.variant(target.settings, api_key=api_key, endpoint=endpoint, api_version=target.api_version)
        except ValueError as error:
            raise ProviderError(f"the target {target.name!r} ({target.place}): {error}") from None
    if not isinstance(provider, AgentProvider):
        if not target.place and target.agent:
            raise UnknownProviderError(
                f"{target.name!r} names a model, but '{target.provider}_provider' is no chat provider or agent, and "
                "takes none; set the model in the fixture"
            )
        return provider
    cwd = resolve(target.agent.get("cwd"))
    return provider.variant({**target.agent, "cwd": None if cwd is None else folder / cwd})
