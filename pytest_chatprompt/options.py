"""The options: command line and ini values, declared, checked and resolved."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

import pytest

DEFAULT_CONCURRENCY: Final = 8
# What `--chatprompt-ab` names that is no git revision, each with an example.
AB_KINDS: Final = {"model": "gpt-5-mini", "provider": "anthropic"}
# The formats of reports; `reports.formats` writes them.
REPORT_SUFFIXES: Final = (".html", ".md", ".json")
_SUFFIXES: Final = ", ".join(REPORT_SUFFIXES)


def resolve_report_path(config: pytest.Config, text: str) -> Path:
    """The file of a report, relative to where pytest was started, as that of `--junitxml`."""
    path = config.invocation_params.dir / Path(text).expanduser()
    if path.suffix not in REPORT_SUFFIXES:
        raise pytest.UsageError(f"--chatprompt-report: {text!r} has an unknown suffix; end it with {_SUFFIXES}")
    if path.is_dir():
        raise pytest.UsageError(f"--chatprompt-report: {text!r} is a folder; name a file")
    return path


def parse_allowed_secret(pattern: str) -> re.Pattern[str]:
    """A pattern of texts that are not secrets."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise pytest.UsageError(
            f"chatprompt_allowed_secrets: {pattern!r} is not a valid regular expression ({error}); "
            "write one for each line, with a backslash before characters such as ( and +"
        ) from None


def checked_names(name: str, values: list[str], pattern: str, what: str) -> tuple[str, ...]:
    """The values of an ini value, of which each is a name of a kind; `what` says which, and how to write it."""
    for value in values:
        if not re.fullmatch(pattern, value):
            raise pytest.UsageError(f"{name}: {value!r} is not {what}")
    return tuple(values)


def parse_count(name: str, value: str | None) -> int | None:
    """A whole number from 1; `None` if there is none."""
    if value is None:
        return None
    if not (value.isdecimal() and int(value)):
        raise pytest.UsageError(f"{name} must be a whole number from 1, but is {value!r}")
    return int(value)


def option_or_ini(config: pytest.Config, name: str) -> tuple[str, str | None]:
    """The option if it is given, else the ini value; with what it is called."""
    option = config.getoption(f"chatprompt_{name}")
    if option is not None:
        return f"--chatprompt-{name.replace('_', '-')}", option
    return f"chatprompt_{name}", config.getini(f"chatprompt_{name}") or None


def resolve_budget_usd(config: pytest.Config) -> float | None:
    """What the run may cost, in US dollars; `None` for no limit."""
    name, value = option_or_ini(config, "budget_usd")
    if value is None:
        return None
    try:
        budget = float(value)
    except ValueError:
        budget = math.nan
    if not 0 < budget < math.inf:
        raise pytest.UsageError(f"{name} must be a number above 0, in US dollars, but is {value!r}")
    if config.getoption("dist", "no") != "no" or hasattr(config, "workerinput"):
        raise pytest.UsageError(
            f"{name} does not work with -n, because the workers share no budget; remove -n, or pass -n0 if your "
            "settings add it: a live run sends many requests at once without it too"
        )
    return budget


DEFAULT_PROVIDER: Final = "openai"
DEFAULT_SNAPSHOT_DIRNAME: Final = "__snapshots__"
# Beside this module.
SCHEMA_NAME: Final = "eval.schema.json"
# What ordinary tests ask for that have snapshots or recordings.
OWN_CODE_FIXTURES: Final = frozenset({"eval_api", "eval_snapshot"})
# Syrupy's, for all snapshots or for new ones.
UPDATING: Final = ("--snapshot-update", "--snapshot-update-new-only")
# What a run does only on the word of the snapshots on disk.
_WRITING: Final = (*UPDATING, "--chatprompt-remove-unused")
_ACTIONS: Final = (*_WRITING, "--chatprompt-live", "--chatprompt-replay")
_HOST: Final = (
    r"[^/:@\s]+|[\da-fA-F:]+",
    "a host; write names or addresses without scheme, port and path, such as files.example",
)
_VARIABLE: Final = (
    r"[A-Za-z_]\w*",
    "the name of an environment variable; list names, such as GROQ_API_KEY, without values; or write none",
)
_FILE_PATTERNS: Final = ["*.eval.yaml", "*.eval.yml"]
_CONCURRENCY: Final = f"how many requests of a live run may be in flight at once (default: {DEFAULT_CONCURRENCY})"
_PLACEHOLDERS: Final = (
    "environment variables that eval_api sets where they are not set, or none (default: the API keys of installed SDKs)"
)
_BUDGET: Final = "send nothing more in a live run once this much was spent, in US dollars"
_AB: Final = "in a live run: compare the answers to what changed since REF, or by model=NAME, provider=NAME"
_ACCEPT: Final = (
    "write one change of the run into each snapshot that has it, by its id, or `new` snapshots, or remove `unused` "
    "ones; may be repeated"
)
_REPORT: Final = f"write a report of the run, in the format of the suffix ({_SUFFIXES}); may be repeated"


# Each collector of the run, its report, and what it has collected, before options and other plugins drop any of it.
Collected = tuple[pytest.Collector, pytest.CollectReport, list[pytest.Item | pytest.Collector]]
collected_key: Final = pytest.StashKey[list[Collected]]()
# The folders in folders of snapshots that the run has come to.
snapshot_folders_key: Final = pytest.StashKey[list[Path]]()
# Whether a worker of pytest-xdist has crashed, and what it knew is lost.
crashed_key: Final = pytest.StashKey[bool]()
# The environment variable by which somebody says that all is to be accepted, though nobody has seen it.
ALLOW_UPDATE: Final = "CHATPROMPT_ALLOW_UPDATE"
# The id of all snapshots whose case is gone.
UNUSED: Final = "unused"
NOTHING_UNUSED: Final = f"--chatprompt-accept {UNUSED}: nothing is removed, as no case is known to be gone."
# How it is called for the workers of pytest-xdist.
REFUSED_UPDATE: Final = "chatprompt_refused_update"
# The mark of a test whose requests need not begin with all of the one before.
MOVES_PREFIX: Final = "moves_cache_prefix"
_FLAG: Final = {"action": "store_true"}
_LIST: Final = {"action": "append", "default": []}
_CONST: Final = {"action": "store_const", "dest": "chatprompt_review"}
# The options: what follows `--chatprompt-`, how they are parsed, and the help.
_OPTIONS: Final[tuple[tuple[str, dict[str, Any], str], ...]] = (
    ("provider", {"metavar": "NAME"}, "send every case through this provider instead of the one in its file"),
    ("live", _FLAG, "send requests to the real APIs; each is compared with its snapshot first"),
    ("concurrency", {"metavar": "N"}, _CONCURRENCY),
    ("repeat", {"metavar": "N"}, "how often each case is sent in a live run, whatever its file says"),
    ("budget-usd", {"metavar": "X"}, _BUDGET),
    ("record", _FLAG, "with --chatprompt-live: write what the APIs reply beside the snapshots"),
    ("replay", _FLAG, "use recorded replies; with --chatprompt-live, record those that are missing"),
    ("against", {"metavar": "REF"}, "compare with the snapshots of a git revision: what this branch changes"),
    ("ab", {"metavar": "REF"}, _AB),
    ("ab-fail-worse", _FLAG, "with --chatprompt-ab: exit with 1 if the answers are worse"),
    ("remove-unused", _FLAG, "remove unused snapshots of own code, recordings and replies, too, if all tests pass"),
    ("schema", _FLAG, "print the JSON Schema of eval files, for editors, and collect nothing"),
    ("show", _FLAG, "print what is sent, as a conversation and as it is, and compare nothing"),
    ("accept", _LIST | {"metavar": "ID"}, _ACCEPT),
    # A whole option for each value, since argparse would take a path that follows for the value.
    ("review", _CONST | {"const": "terminal"}, "ask in the terminal after the tests, change by change, what to accept"),
    ("review=browser", _CONST | {"const": "browser"}, "ask the same on a page, at an address that the run prints"),
    ("report", _LIST | {"metavar": "PATH"}, _REPORT),
)
# The ini values: what follows `chatprompt_`, the type, the default, and the help.
_INI_VALUES: Final[tuple[tuple[str, Any, Any, str], ...]] = (
    ("concurrency", None, None, _CONCURRENCY),
    ("budget_usd", None, None, _BUDGET),
    ("provider", None, None, f"the provider of cases that name none (default: {DEFAULT_PROVIDER})"),
    ("judge", None, None, "the provider that llm_rubric asks (default: that of chatprompt_provider)"),
    ("judge_template", None, None, "a YAML or JSON file with the prompt of llm_rubric, relative to the root folder"),
    ("files", "args", _FILE_PATTERNS, f"globs of the eval files (default: {' '.join(_FILE_PATTERNS)})"),
    ("guideline_patterns", "linelist", None, "globs of guidelines, for eval files that have none of their own"),
    ("system_prompt", None, None, "the system prompt of cases that set none"),
    ("allowed_secrets", "linelist", [], "regular expressions of texts that are not secrets, and may be in snapshots"),
    ("allowed_hosts", "linelist", [], "hosts that tests with eval_api may reach, by name or address"),
    ("placeholders", "args", None, _PLACEHOLDERS),
    ("cache_prefix", "bool", False, "warn of a request that does not begin with all of the one before"),
    ("protect", "bool", False, f"refuse --snapshot-update without a terminal, unless {ALLOW_UPDATE} is set"),
)


def add_options(parser: pytest.Parser) -> None:
    """Declare the options and ini values."""
    group = parser.getgroup("chatprompt", "evals of chat prompts")
    for name, settings, text in _OPTIONS:
        declared = {"dest": f"chatprompt_{name.replace('-', '_')}", "help": text, **settings}
        group.addoption(f"--chatprompt-{name}", **declared)
    for name, kind, default, text in _INI_VALUES:
        parser.addini(f"chatprompt_{name}", text, type=kind, default=default)


class Options:
    """The options of one run.

    Raises:
        pytest.UsageError: an invalid value, or options that exclude each other.

    Attributes:
        provider: the provider that the command line names for every case; `None` if it names none.
        names_provider: whether the command line names one, with the option or with an override of the ini value.
        default_provider: the provider of cases that name none.
        judge: the provider that judges.
        judge_template: the file with the project's prompt of the judge, from pytest's root folder; `None` if not set.
        live: whether requests go to the real APIs.
        concurrency: how many requests of a live run may be in flight at once, at least 1.
        budget_usd: what the requests of a live run may cost, in US dollars; `None` for no limit.
        estimates: whether the run says what a live run would cost, and sends nothing; `live` is off then.
        repeat: how often each case is sent in a live run, at most; `None` for what its file says.
        least_repeat: how often at least, if more depends on the answers; `None` if it does not.
        ab: what the answers are compared with, as the user writes it; `None` for nothing.
        ab_revision: the git revision that it is; `None` if it is none.
        ab_model: another model that each case is sent to as well; `""` for none.
        ab_provider: another provider that each case is sent through as well; `""` for none.
        ab_fail_worse: whether the run fails if the answers are worse.
        record: whether a live run writes what the APIs reply beside the snapshots.
        against: the git revision whose snapshots are compared with; `None` for the files on disk.
        replay: whether recorded replies are used in place of real ones; what has none is sent if the run is live.
        remove_unused: whether the run removes unused snapshots of own code, unused recordings and replies, too.
        show: whether the run prints what is sent, and compares nothing.
        accept: the ids of changes to write into their snapshots.
        review: where it is asked which changes to write: `terminal`, `browser`; `None` for nowhere.
        refused_update: the option that would write snapshots, if the project is protected from it; else `""`.
        reports: the files of reports to write, absolute.
        keeps_results: whether what each test sent is kept to be shown, also of those that pass.
        file_patterns: globs of the files that are collected.
        guideline_patterns: globs of guidelines, for eval files without their own; `None` if not set.
        system_prompt: the project's default system prompt; `None` if not set.
        allowed_secrets: patterns of texts that are not secrets.
        allowed_hosts: hosts that tests of own code may reach, by name or address.
        placeholders: environment variables that are set offline where they are not; `None` for the default.
        cache_prefix: whether each request of a test should begin with all of the one before.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.provider: str | None = config.getoption("chatprompt_provider")
        if self.provider is not None and not self.provider.strip():
            from pytest_chatprompt.apis.table import PROVIDERS  # noqa: PLC0415

            raise pytest.UsageError(f"--chatprompt-provider is empty; name a provider, such as {', '.join(PROVIDERS)}")
        self.live, self.record, self.replay, self.show, self.remove_unused = (
            bool(config.getoption(f"chatprompt_{name}"))
            for name in ("live", "record", "replay", "show", "remove_unused")
        )
        if self.record and not self.live:
            raise pytest.UsageError("--chatprompt-record keeps the answers of a live run; add --chatprompt-live")
        self.against: str | None = config.getoption("chatprompt_against")
        if self.against is not None:
            _check_alone(config, "--chatprompt-against only compares", _ACTIONS)
        if self.show:
            printing = (*_ACTIONS, "--chatprompt-against", "--chatprompt-report")
            _check_alone(config, "--chatprompt-show only prints what is sent", printing)
        overrides = config.getoption("override_ini") or ()
        is_overridden = any(override.startswith("chatprompt_provider=") for override in overrides)
        self.names_provider = self.provider is not None or is_overridden
        self.default_provider: str = config.getini("chatprompt_provider") or DEFAULT_PROVIDER
        self.judge: str = config.getini("chatprompt_judge") or self.default_provider
        self.judge_template: str | None = config.getini("chatprompt_judge_template") or None
        self.concurrency = parse_count(*option_or_ini(config, "concurrency")) or DEFAULT_CONCURRENCY
        self.budget_usd = resolve_budget_usd(config) if self.live else None
        # Nothing is sent where pytest only collects.
        self.estimates = bool(self.live and config.option.collectonly)
        self.live = self.live and not self.estimates
        self.least_repeat, self.repeat = _parse_repeat(config.getoption("chatprompt_repeat"))
        self._resolve_ab(config)
        self.reports = tuple(resolve_report_path(config, path) for path in config.getoption("chatprompt_report"))
        self.accept: list[str] = [each.lower() for each in config.getoption("chatprompt_accept")]
        self.review: str | None = config.getoption("chatprompt_review")
        others = (*_WRITING, "--chatprompt-against", "--chatprompt-show", "--collect-only")
        if self.accept:
            _check_alone(config, "--chatprompt-accept writes only what it names", others)
        if self.review is not None:
            _check_alone(config, "--chatprompt-review writes only what you accept", (*others, "--chatprompt-accept"))
        if not hasattr(config, "workerinput"):
            _check_output(config, self.accept, self.review)
        self.refused_update = _refused_update(config)
        self.keeps_results = self.show or bool(self.reports or self.accept or self.review or self.refused_update)
        self.file_patterns: tuple[str, ...] = tuple(config.getini("chatprompt_files"))
        patterns: list[str] | None = config.getini("chatprompt_guideline_patterns")
        self.guideline_patterns = tuple(patterns) if patterns else None
        self.system_prompt: str | None = config.getini("chatprompt_system_prompt")
        self.allowed_secrets = tuple(map(parse_allowed_secret, config.getini("chatprompt_allowed_secrets")))
        hosts = checked_names("chatprompt_allowed_hosts", config.getini("chatprompt_allowed_hosts"), *_HOST)
        self.allowed_hosts = tuple(map(str.lower, hosts))
        self.cache_prefix = _is_set(config, "cache_prefix")
        names: list[str] | None = config.getini("chatprompt_placeholders")
        names = [] if names == ["none"] else names
        self.placeholders = None if names is None else checked_names("chatprompt_placeholders", names, *_VARIABLE)

    def _resolve_ab(self, config: pytest.Config) -> None:
        """Read `--chatprompt-ab`; refuse it where nothing is sent or much is written, and what needs it without it."""
        self.ab: str | None = config.getoption("chatprompt_ab")
        kind, mark, name = (self.ab or "").partition("=")
        is_kind = bool(mark) and kind in AB_KINDS
        self.ab_revision = None if is_kind else self.ab
        self.ab_model, self.ab_provider = (name if is_kind and kind == each else "" for each in AB_KINDS)
        self.ab_fail_worse: bool = config.getoption("chatprompt_ab_fail_worse")
        if self.ab is None:
            if self.ab_fail_worse:
                raise pytest.UsageError("--chatprompt-ab-fail-worse needs --chatprompt-ab REF")
            if self.live and self.least_repeat is not None:
                raise pytest.UsageError("--chatprompt-repeat takes a range only with --chatprompt-ab")
        elif not (self.live or self.estimates):
            raise pytest.UsageError("--chatprompt-ab compares the answers of a live run; add --chatprompt-live")
        else:
            if is_kind and not name:
                example = f"{kind}={AB_KINDS[kind]}"
                raise pytest.UsageError(f"--chatprompt-ab {kind}= names no {kind}; write one, such as {example}")
            others = (*_WRITING, "--chatprompt-accept", "--chatprompt-review")
            _check_alone(config, "--chatprompt-ab writes no snapshots", others)


options_key: Final = pytest.StashKey[Options]()


def _parse_repeat(value: str | None) -> tuple[int | None, int | None]:
    """How often a case is sent, at least and at most; the first is `None` if it is one number."""
    least, dots, most = (value or "").partition("..")
    if not dots:
        return None, parse_count("--chatprompt-repeat", value)
    counts = [parse_count("--chatprompt-repeat", each) or 0 for each in (least, most)]
    if counts[0] >= counts[1]:
        raise pytest.UsageError(f"--chatprompt-repeat {value}: the first number must be the lower one, as in 5..40")
    return counts[0], counts[1]


def open_input(config: pytest.Config) -> None:
    """Let the user type: pytest captures the input until this, and from the next test on again."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)


def _has_terminal(config: pytest.Config) -> bool:
    """Whether somebody sees what the run prints, and can answer."""
    open_input(config)
    return config.pluginmanager.hasplugin("terminal") and sys.stdin.isatty() and sys.stdout.isatty()


def _check_output(config: pytest.Config, accept: Sequence[str], review: str | None) -> None:
    """Refuse to accept changes where nothing is told, and to ask where nobody can answer."""
    if (accept or review == "browser") and not config.pluginmanager.hasplugin("terminal"):
        raise pytest.UsageError("what is accepted is told in pytest's summary: remove -p no:terminal")
    if review == "terminal" and not _has_terminal(config):
        raise pytest.UsageError(
            "--chatprompt-review asks in a terminal, and there is none: accept changes by their ids, with "
            "--chatprompt-accept ID"
        )


def _check_alone(config: pytest.Config, text: str, others: Sequence[str]) -> None:
    """Refuse options that make no sense beside another one."""
    for option in others:
        if config.getoption(option, False):
            raise pytest.UsageError(f"{text}: remove {option}")


def _is_set(config: pytest.Config, name: str) -> bool:
    """Whether an ini value is true."""
    try:
        return bool(config.getini(f"chatprompt_{name}"))
    except (ValueError, pytest.UsageError) as error:
        raise pytest.UsageError(f"chatprompt_{name} must be true or false: {error}") from None


def _refused_update(config: pytest.Config) -> str:
    """The option that would write snapshots which nobody sees in a protected project; `""` if they may be written."""
    protects = _is_set(config, "protect")
    if hasattr(config, "workerinput"):
        # The controller of pytest-xdist has the terminal.
        return str(config.workerinput[REFUSED_UPDATE])
    asked = [option for option in UPDATING if config.getoption(option, False)]
    is_allowed = os.environ.get(ALLOW_UPDATE, "").strip().lower() not in ("", "0", "false", "no", "off")
    if not (asked and protects) or is_allowed or _has_terminal(config):
        return ""
    return asked[0]


def snapshot_dirname(config: pytest.Config) -> str:
    """The name of snapshot folders: syrupy's option, or its default if syrupy is switched off."""
    return str(config.getoption("snapshot_dirname", DEFAULT_SNAPSHOT_DIRNAME))


def is_eval_file(path: Path, patterns: Sequence[str], root: Path) -> bool:
    """Whether a file's name says that it is an eval file.

    The patterns are globs as in pytest's `python_files`: matched with the name, or with the end of the path if they
    contain a `/`. `**` stands for any number of folders below pytest's root folder, as in `Path.rglob`.
    """
    return any(
        _end_matches(path, pattern, root) if "/" in pattern else fnmatch(path.name, pattern) for pattern in patterns
    )


def _end_matches(path: Path, pattern: str, root: Path) -> bool:
    from wcmatch import glob  # noqa: PLC0415

    # Folders above the root do not count: whether a file is collected must not depend on where the project lies.
    below = path.relative_to(root) if path.is_relative_to(root) else path
    return glob.globmatch(below, f"**/{pattern.removeprefix('./')}", flags=glob.GLOBSTAR | glob.DOTGLOB)
