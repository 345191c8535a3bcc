"""The options: command line and ini values, declared, checked and resolved."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

T = TypeVar("T")

DEFAULT_CONCURRENCY: Final = 8
# The formats of reports; `reports.formats` writes them.
REPORT_SUFFIXES: Final = (".html", ".md", ".json")


def resolve_report_path(config: pytest.Config, text: str) -> Path:
    """The file of a report, relative to where pytest was started, as that of `--junitxml`."""
    path = config.invocation_params.dir / Path(text).expanduser()
    if path.suffix not in REPORT_SUFFIXES:
        raise pytest.UsageError(
            f"--chatprompt-report: {text!r} has an unknown suffix; end it with {', '.join(REPORT_SUFFIXES)}"
        )
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


def parse_allowed_host(host: str) -> str:
    """A host that tests may reach, in lower case."""
    if re.search(r"[/:@\s]", host.removeprefix("[").removesuffix("]")) and not re.fullmatch(r"[\da-fA-F:]+", host):
        raise pytest.UsageError(
            f"chatprompt_allowed_hosts: {host!r} is not a host; "
            "write names or addresses without scheme, port and path, such as files.example"
        )
    return host.lower()


def parse_placeholders(names: list[str] | None) -> tuple[str, ...] | None:
    """The names of environment variables, which are none for the word `none`; `None` if the ini value is not there."""
    for name in names or ():
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise pytest.UsageError(
                f"chatprompt_placeholders: {name!r} is not the name of an environment variable; "
                "list names, such as GROQ_API_KEY, without values; or write none"
            )
    return None if names is None else () if names == ["none"] else tuple(names)


def parse_count(name: str, value: str | None, default: T) -> int | T:
    """A whole number from 1; the default if there is none."""
    if value is None:
        return default
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
    if not value:
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
# What a run does only on the word of the snapshots on disk.
_SENDING_OR_WRITING: Final = {
    "--snapshot-update": "update_snapshots",
    "--chatprompt-live": "chatprompt_live",
    "--chatprompt-replay": "chatprompt_replay",
    "--chatprompt-remove-unused": "chatprompt_remove_unused",
}
_FILE_PATTERNS: Final = ["*.eval.yaml", "*.eval.yml"]
_CONCURRENCY: Final = f"how many requests of a live run may be in flight at once (default: {DEFAULT_CONCURRENCY})"
_PLACEHOLDERS: Final = (
    "environment variables that eval_api sets where they are not set, or none (default: the API keys of installed SDKs)"
)
_BUDGET: Final = "send nothing more in a live run once this much was spent, in US dollars"


# A report on all tests, with what they sent, sets it before the first one runs.
all_results_key: Final = pytest.StashKey[bool]()
# What each collector of the run has collected, before options and other plugins drop any of it.
collected_key: Final = pytest.StashKey[list[tuple[pytest.Collector, list[pytest.Item | pytest.Collector]]]]()
# The folders in folders of snapshots that the run has come to.
snapshot_folders_key: Final = pytest.StashKey[list[Path]]()
# Whether a worker of pytest-xdist has crashed, and what it knew is lost.
crashed_key: Final = pytest.StashKey[bool]()


# The options: what follows `--chatprompt-`, the name of its value, of which a flag has none, and the help.
_OPTIONS: Final = (
    ("provider", "NAME", "send every case through this provider instead of the one in its file"),
    ("live", None, "send requests to the real APIs; each is compared with its snapshot first"),
    ("concurrency", "N", _CONCURRENCY),
    ("repeat", "N", "how often each case is sent in a live run, whatever its file says"),
    ("budget-usd", "X", _BUDGET),
    ("record", None, "with --chatprompt-live: write what the APIs reply beside the snapshots"),
    (
        "replay",
        None,
        "use the recorded replies in place of real ones; with --chatprompt-live, record those that are missing",
    ),
    (
        "against",
        "REF",
        "compare with the snapshots of a git revision in place of those on disk: what this branch changes",
    ),
    (
        "remove-unused",
        None,
        "remove unused snapshots of own code, unused recordings and replies, too, if all tests pass",
    ),
    ("schema", None, "print the JSON Schema of eval files, for editors, and collect nothing"),
    ("show", None, "print what is sent, as a conversation and as it is, and compare nothing"),
)
_REPORT: Final = (
    f"write a report of the run, in the format of the suffix ({', '.join(REPORT_SUFFIXES)}); may be repeated"
)
# The ini values: what follows `chatprompt_`, the type, the default, and the help.
_INI_VALUES: Final[tuple[tuple[str, Any, Any, str], ...]] = (
    ("concurrency", None, None, _CONCURRENCY),
    ("budget_usd", None, None, _BUDGET),
    ("provider", None, None, f"the provider of cases that name none (default: {DEFAULT_PROVIDER})"),
    ("judge", None, None, "the provider that llm_rubric asks (default: that of chatprompt_provider)"),
    ("judge_template", None, None, "a YAML or JSON file with the prompt of llm_rubric, relative to the root folder"),
    ("files", "args", _FILE_PATTERNS, f"globs of the eval files (default: {' '.join(_FILE_PATTERNS)})"),
    (
        "guideline_patterns",
        "linelist",
        None,
        "globs of the files that are guidelines, for eval files that have none of their own",
    ),
    ("system_prompt", None, None, "the system prompt of cases that set none"),
    (
        "allowed_secrets",
        "linelist",
        [],
        "regular expressions of texts that are not secrets, and may stand in a snapshot",
    ),
    ("allowed_hosts", "linelist", [], "hosts that tests with eval_api may reach, by name or address"),
    ("placeholders", "args", None, _PLACEHOLDERS),
)


def add_options(parser: pytest.Parser) -> None:
    """Declare the options and ini values."""
    group = parser.getgroup("chatprompt", "evals of chat prompts")
    for name, metavar, text in _OPTIONS:
        dest = f"chatprompt_{name.replace('-', '_')}"
        settings = {"action": "store_true"} if metavar is None else {"metavar": metavar}
        group.addoption(f"--chatprompt-{name}", dest=dest, help=text, **settings)
    report: dict[str, Any] = {"dest": "chatprompt_reports", "metavar": "PATH", "action": "append", "default": []}
    group.addoption("--chatprompt-report", help=_REPORT, **report)
    for name, kind, default, text in _INI_VALUES:
        parser.addini(f"chatprompt_{name}", text, type=kind, default=default)


class Options:
    """The options of one run.

    Raises:
        pytest.UsageError: an invalid value, or options that exclude each other.

    Attributes:
        provider: the provider that the command line names for every case; `None` if it names none.
        default_provider: the provider of cases that name none.
        judge: the provider that judges.
        judge_template: the file with the project's prompt of the judge, from pytest's root folder; `None` if not set.
        live: whether requests go to the real APIs.
        concurrency: how many requests of a live run may be in flight at once, at least 1.
        budget_usd: what the requests of a live run may cost, in US dollars; `None` for no limit.
        estimates: whether the run says what a live run would cost, and sends nothing; `live` is off then.
        repeat: how often each case is sent in a live run; `None` for what its file says.
        record: whether a live run writes what the APIs reply beside the snapshots.
        against: the git revision whose snapshots are compared with; `None` for the files on disk.
        replay: whether recorded replies are used in place of real ones; what has none is sent if the run is live.
        remove_unused: whether the run removes unused snapshots of own code, unused recordings and replies, too.
        show: whether the run prints what is sent, and compares nothing.
        reports: the files of reports to write, absolute.
        file_patterns: globs of the files that are collected.
        guideline_patterns: globs of guidelines, for eval files without their own; `None` if not set.
        system_prompt: the project's default system prompt; `None` if not set.
        allowed_secrets: patterns of texts that are not secrets.
        allowed_hosts: hosts that tests of own code may reach, by name or address.
        placeholders: environment variables that are set offline where they are not; `None` for the default.
    """

    def __init__(self, config: pytest.Config) -> None:
        provider: str | None = config.getoption("chatprompt_provider")
        if provider is not None and not provider.strip():
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
            _check_alone(config, "--chatprompt-against only compares", _SENDING_OR_WRITING)
        if self.show:
            others = {"--chatprompt-against": "chatprompt_against", "--chatprompt-report": "chatprompt_reports"}
            _check_alone(config, "--chatprompt-show only prints what is sent", _SENDING_OR_WRITING | others)
        self.provider = provider
        self.default_provider: str = config.getini("chatprompt_provider") or DEFAULT_PROVIDER
        self.judge: str = config.getini("chatprompt_judge") or self.default_provider
        self.judge_template: str | None = config.getini("chatprompt_judge_template") or None
        self.concurrency = parse_count(*option_or_ini(config, "concurrency"), DEFAULT_CONCURRENCY)
        self.budget_usd = resolve_budget_usd(config) if self.live else None
        # Nothing is sent where pytest only collects.
        self.estimates = bool(self.live and config.option.collectonly)
        self.live = self.live and not self.estimates
        self.repeat = parse_count("--chatprompt-repeat", config.getoption("chatprompt_repeat"), None)
        self.reports = tuple(resolve_report_path(config, path) for path in config.getoption("chatprompt_reports"))
        self.file_patterns: tuple[str, ...] = tuple(config.getini("chatprompt_files"))
        self.guideline_patterns: tuple[str, ...] | None = (
            tuple(config.getini("chatprompt_guideline_patterns") or ()) or None
        )
        self.system_prompt: str | None = config.getini("chatprompt_system_prompt")
        self.allowed_secrets = tuple(map(parse_allowed_secret, config.getini("chatprompt_allowed_secrets")))
        self.allowed_hosts = tuple(map(parse_allowed_host, config.getini("chatprompt_allowed_hosts")))
        self.placeholders = parse_placeholders(config.getini("chatprompt_placeholders"))


options_key: Final = pytest.StashKey[Options]()


def _check_alone(config: pytest.Config, text: str, others: Mapping[str, str]) -> None:
    """Refuse options that make no sense beside another one."""
    for option, name in others.items():
        if config.getoption(name, False):
            raise pytest.UsageError(f"{text}: remove {option}")


def snapshot_dirname(config: pytest.Config) -> str:
    """The name of snapshot folders: syrupy's option, or its default if syrupy is switched off."""
    return str(config.getoption("snapshot_dirname", DEFAULT_SNAPSHOT_DIRNAME))


def provider_named_on_command_line(config: pytest.Config) -> bool:
    """Whether the command line names a provider, with the option or with an override of the ini value."""
    overrides = config.getoption("override_ini") or ()
    return config.getoption("chatprompt_provider") is not None or any(
        override.startswith("chatprompt_provider=") for override in overrides
    )


def is_eval_file(path: Path, patterns: Sequence[str], root: Path) -> bool:
    """Whether a file's name says that it is an eval file.

    Args:
        path: the file.
        patterns: globs as in pytest's `python_files`: matched with the name, or with the end of the path if they
            contain a `/`. `**` stands for any number of folders below pytest's root folder, as in `Path.rglob`.
        root: pytest's root folder.
    """
    return any(
        _end_matches(path, pattern, root) if "/" in pattern else fnmatch(path.name, pattern) for pattern in patterns
    )


def _end_matches(path: Path, pattern: str, root: Path) -> bool:
    from wcmatch import glob  # noqa: PLC0415

    # Folders above the root do not count: whether a file is collected must not depend on where the project lies.
    below = path.relative_to(root) if path.is_relative_to(root) else path
    return glob.globmatch(below, f"**/{pattern.removeprefix('./')}", flags=glob.GLOBSTAR | glob.DOTGLOB)
