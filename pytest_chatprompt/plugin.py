"""The entry module: pytest's hooks, and nothing else.

Pytest imports it in every run of a project that has this package installed. So it imports nothing but pytest and the
options; the rooms are imported when the first eval file is collected.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# Not `from pytest_chatprompt import hookspecs`: that would look up a public name, which reads the list of them.
import pytest_chatprompt.hookspecs as hookspecs  # noqa: PLR0402
from pytest_chatprompt.options import (
    DEFAULT_SNAPSHOT_DIRNAME,
    MOVES_PREFIX,
    OWN_CODE_FIXTURES,
    REFUSED_UPDATE,
    SCHEMA_NAME,
    Options,
    add_options,
    collected_key,
    crashed_key,
    is_eval_file,
    options_key,
    snapshot_dirname,
    snapshot_folders_key,
)

if TYPE_CHECKING:
    from pytest_chatprompt.runs.file import EvalFile


pytest_plugins = ["pytest_chatprompt.fixtures"]


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that this plugin calls."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> pytest.ExitCode | None:
    """Print the JSON Schema of eval files, if that is asked for, in place of a run."""
    if not config.option.chatprompt_schema:
        return None
    sys.stdout.write((Path(__file__).parent / SCHEMA_NAME).read_text(encoding="utf-8"))
    return pytest.ExitCode.OK


def pytest_configure(config: pytest.Config) -> None:
    """Resolve the options, and copy syrupy's list of ignored file extensions, which `pytest_sessionfinish` extends."""
    options = config.stash[options_key] = Options(config)
    config.addinivalue_line("markers", "thread_unsafe: has no effect any more, as all answers are graded in one thread")
    config.addinivalue_line("markers", f"{MOVES_PREFIX}: no request need begin with the one before; reason= says why")
    is_worker = hasattr(config, "workerinput")
    if (options.live or options.replay) and not is_worker:
        from pytest_chatprompt.reports.result_collectors import AnswerHooks, ProviderComparison  # noqa: PLC0415
        from pytest_chatprompt.runs.usage_summary import UsageSummary  # noqa: PLC0415

        config.pluginmanager.register(UsageSummary(options.live, options.replay), "chatprompt-usage")
        if options.ab is None:
            config.pluginmanager.register(ProviderComparison(), "chatprompt-provider-comparison")
        if config.get_verbosity(pytest.Config.VERBOSITY_TEST_CASES) > 0:
            config.pluginmanager.register(AnswerHooks(config), "chatprompt-answers")
    if options.reports and not is_worker:
        from pytest_chatprompt.reports.result_collectors import RunReports  # noqa: PLC0415

        config.pluginmanager.register(RunReports(), "chatprompt-reports-of-run")
    if options.refused_update:
        # Syrupy's own snapshots may show prompts, too.
        config.option.update_snapshots = config.option.update_new_snapshots_only = False
    if (options.accept or options.review or options.refused_update) and not is_worker:
        _register_acceptance(config, options)
    if options.show:
        from pytest_chatprompt.reports.result_collectors import ShownRequests  # noqa: PLC0415

        config.pluginmanager.register(ShownRequests(), "chatprompt-shown-requests")
    _open_revision(config, options)
    config.option.ignore_file_extensions = list(getattr(config.option, "ignore_file_extensions", None) or ())


def _open_revision(config: pytest.Config, options: Options) -> None:
    """Open the git revision that the run compares with, if it does."""
    name = options.ab_revision if options.against is None else options.against
    if name is not None:
        from pytest_chatprompt.runs.run_state import SharedByRun  # noqa: PLC0415

        option = "--chatprompt-against" if options.ab is None else "--chatprompt-ab"
        SharedByRun.of(config).compare_with_revision(name, option)
    if options.ab is not None:
        from pytest_chatprompt.runs.ab_run import AbSummary, OwnCodeVersions  # noqa: PLC0415

        if not (config.option.collectonly or hasattr(config, "workerinput")):
            config.pluginmanager.register(AbSummary(), "chatprompt-ab-summary")
        config.pluginmanager.register(OwnCodeVersions(), "chatprompt-ab-own-code")


def _register_acceptance(config: pytest.Config, options: Options) -> None:
    """Register what accepts changes when the tests have ended, or says that none may be accepted unseen."""
    from pytest_chatprompt.reports.acceptance import AcceptanceHooks, accept_ids, refuse_update  # noqa: PLC0415

    # At most one of them is asked for.
    decide = accept_ids if options.accept else refuse_update
    if options.review == "terminal":
        from pytest_chatprompt.reports.terminal_review import review_in_terminal as decide  # noqa: PLC0415
    elif options.review == "browser":
        from pytest_chatprompt.reports.browser_review import review_in_browser as decide  # noqa: PLC0415
    config.pluginmanager.register(AcceptanceHooks(decide), "chatprompt-acceptance")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> EvalFile | None:
    """Collect a file whose name matches the patterns of eval files, outside of snapshot folders."""
    options = parent.config.stash[options_key]
    is_named = is_eval_file(file_path, options.file_patterns, parent.config.rootpath)
    if not is_named or _snapshot_dirnames(parent.config) & set(file_path.parts):
        return None
    from pytest_chatprompt.runs.file import EvalFile  # noqa: PLC0415
    from pytest_chatprompt.runs.session import EvalSession  # noqa: PLC0415

    if parent.config.pluginmanager.hasplugin("syrupy"):
        # Registers the session's hooks before the first item exists.
        EvalSession.get(parent.config)
    return EvalFile.of_path(file_path, parent)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Look for no tests among the snapshots of a file; what the command line names, pytest collects without asking."""
    if collection_path.parent.name not in _snapshot_dirnames(config) or not collection_path.is_dir():
        return None
    config.stash.setdefault(snapshot_folders_key, []).append(collection_path)
    return True


def _snapshot_dirnames(config: pytest.Config) -> set[str]:
    """The names of folders that hold snapshots, not tests."""
    return {DEFAULT_SNAPSHOT_DIRNAME, snapshot_dirname(config)}


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Where a file of the command line gives no tests, say which names eval files have."""
    try:
        return (yield)
    except pytest.UsageError as error:
        raise pytest.UsageError(*error.args, *_explain_names(session.config)) from None


def _explain_names(config: pytest.Config) -> Iterator[str]:
    patterns = config.stash[options_key].file_patterns
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        if path.suffix in (".yaml", ".yml") and path.is_file() and not is_eval_file(path, patterns, config.rootpath):
            yield (
                f"{argument}: the name of an eval file matches one of {', '.join(patterns)}; "
                "rename it, or add a pattern to the ini value chatprompt_files"
            )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Register the session's hooks before the first test runs, if one of them has snapshots or recordings."""
    if any(not OWN_CODE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())) for item in items):
        from pytest_chatprompt.runs.session import EvalSession  # noqa: PLC0415

        EvalSession.get(config)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Forget what was collected; `UnusedSnapshots` has read it."""
    session.config.stash.setdefault(collected_key, []).clear()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Note what was collected: innermost, so that it sees the tests that `--lf` and other plugins drop here."""
    report = yield
    # A copy: `--lf` takes tests out of the list itself.
    collector.config.stash.setdefault(collected_key, []).append((collector, report, list(report.result or ())))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
    """Keep syrupy's own search for unused snapshots away from those of eval files, and from interrupted runs.

    Syrupy's default extension takes every file in a snapshot folder that it does not know for unused, and deletes it
    with `--snapshot-update`, also in runs that did not select the eval file. It reads the list of ignored file
    extensions when the session finishes.

    After Ctrl-C the workers of pytest-xdist report nothing to the controller. Syrupy warns about that, and ends the run
    with a traceback and another exit status where warnings are errors.
    """
    option = session.config.option
    is_disabled = getattr(option, "disable_unused_snapshots", False)
    option.disable_unused_snapshots = is_disabled or exitstatus == pytest.ExitCode.INTERRUPTED
    folders = {path.parent for path in {item.path for item in getattr(session, "items", ())}}
    dirname = snapshot_dirname(session.config)
    if any(next((folder / dirname).glob("*/*.yaml"), None) for folder in folders):
        from pytest_chatprompt.snapshots.unused import holds_written_file  # noqa: PLC0415

        if any(holds_written_file(folder / dirname) for folder in folders):
            option.ignore_file_extensions.append("yaml")
    _register_review(session.config)
    result = yield
    # Syrupy's summary, which comes later, says so if the user has switched its search off.
    option.disable_unused_snapshots = is_disabled
    return result


def _register_review(config: pytest.Config) -> None:
    """Show what changed at the end, if a test has left a result: in this process, or in a worker of pytest-xdist."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    reports = [] if reporter is None else [*reporter.stats.get("error", ()), *reporter.stats.get("failed", ())]
    if any(hasattr(report, "chatprompt_result") for report in reports):
        from pytest_chatprompt.reports.terminal_hooks import register_review  # noqa: PLC0415

        register_review(config, reports)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the controller of pytest-xdist, tell its workers what it knows, and register what those of a live run need."""
    manager, options = node.config.pluginmanager, node.config.stash[options_key]
    node.workerinput[REFUSED_UPDATE] = options.refused_update
    if options.live and not manager.hasplugin("chatprompt-live-workers"):
        from pytest_chatprompt.runs.live_workers import LiveWorkers  # noqa: PLC0415

        manager.register(LiveWorkers(node.workerinput["testrunuid"]), "chatprompt-live-workers")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """In the controller of pytest-xdist, merge what a worker found about unused snapshots."""
    output = getattr(node, "workeroutput", None)
    if output is None:
        node.config.stash[crashed_key] = True
    elif "chatprompt" in output:
        from pytest_chatprompt.runs.session import EvalSession  # noqa: PLC0415

        EvalSession.get(node.config).merge_worker(output["chatprompt"])
