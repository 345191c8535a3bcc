"""The entry module: pytest's hooks, and nothing else.

It is imported in every pytest run of a project that has this package, so it imports no more than pytest
and the options; the rest comes when the first eval file is collected.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatprompt import hooks
from pytest_chatprompt.options import (
    DEFAULT_SNAPSHOT_DIRNAME,
    add_options,
    is_eval_file,
    resolve,
    settings_key,
    snapshot_dirname,
)

if TYPE_CHECKING:
    from pytest_chatprompt.collection import EvalFile

pytest_plugins = ["pytest_chatprompt.fixtures"]


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that this plugin calls."""
    pluginmanager.add_hookspecs(hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Resolve the options, and keep the list of what syrupy passes over open (see `pytest_sessionfinish`)."""
    settings = config.stash[settings_key] = resolve(config)
    if settings.live:
        from pytest_chatprompt.usage import UsageTable  # noqa: PLC0415

        config.pluginmanager.register(UsageTable(), "chatprompt-usage")
    config.option.ignore_file_extensions = list(getattr(config.option, "ignore_file_extensions", None) or ())


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> EvalFile | None:
    """Collect a file that is an eval file by its name."""
    settings = parent.config.stash[settings_key]
    if not is_eval_file(file_path, settings.file_patterns):
        return None
    if {DEFAULT_SNAPSHOT_DIRNAME, snapshot_dirname(parent.config)} & set(file_path.parts):
        return None
    from pytest_chatprompt.collection import EvalFile  # noqa: PLC0415
    from pytest_chatprompt.session import EvalSession  # noqa: PLC0415

    if parent.config.pluginmanager.hasplugin("syrupy"):
        EvalSession.of(parent.config)
    return EvalFile.from_parent(parent, path=file_path)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, Any, Any]:
    """Keep syrupy's search for unused snapshots away from those of eval files.

    Its default extension takes every file at a site that it does not know for unused and deletes it under
    `--snapshot-update`, also in runs that left out the eval file. It reads the list of file extensions to
    pass over when it finishes.
    """
    folders = {path.parent for path in {item.path for item in getattr(session, "items", ())}}
    dirname = snapshot_dirname(session.config)
    if any(next((folder / dirname).glob("*/*].yaml"), None) for folder in folders):
        session.config.option.ignore_file_extensions.append("yaml")
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist what it does not know: whether cases may be taken away from it."""
    node.workerinput["chatprompt_is_stolen_from"] = node.config.getoption("dist") == "worksteal"
    manager = node.config.pluginmanager
    if node.config.stash[settings_key].live and not manager.hasplugin("chatprompt-stop"):
        from pytest_chatprompt.stop_signal import StopSignal  # noqa: PLC0415

        manager.register(StopSignal(node.workerinput["testrunuid"]), "chatprompt-stop")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker of pytest-xdist found out about snapshots."""
    found = getattr(node, "workeroutput", {}).get("chatprompt")
    if found is not None:
        from pytest_chatprompt.session import EvalSession  # noqa: PLC0415

        EvalSession.of(node.config).take_over(found)
