"""The values of options: each is read from the command line or the ini file, and checked.

The run's configuration comes in; a value comes out, or `pytest.UsageError`. `options` declares the options and calls
these functions.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Final

import pytest

DEFAULT_CONCURRENCY: Final = 8
# The formats of reports; `reports.report_formats` writes them.
REPORT_SUFFIXES: Final = (".html", ".md", ".json")


def resolve_report_path(config: pytest.Config, text: str) -> Path:
    """The file of a report, relative to where pytest was started, as that of `--junitxml`."""
    path = config.invocation_params.dir / Path(text).expanduser()
    if path.suffix not in REPORT_SUFFIXES:
        *others, last = REPORT_SUFFIXES
        raise pytest.UsageError(
            f"--chatprompt-report: {text!r} has an unknown suffix; end it with {', '.join(others)} or {last}"
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
    if names is None:
        return None
    for name in names:
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise pytest.UsageError(
                f"chatprompt_placeholders: {name!r} is not the name of an environment variable; "
                "list names, such as GROQ_API_KEY, without values; or write none"
            )
    return () if names == ["none"] else tuple(names)


def resolve_concurrency(config: pytest.Config) -> int:
    """How many requests may be in flight at once, at least 1."""
    option = config.getoption("chatprompt_concurrency")
    name = "--chatprompt-concurrency" if option is not None else "chatprompt_concurrency"
    value = option if option is not None else config.getini("chatprompt_concurrency") or DEFAULT_CONCURRENCY
    return _whole_number(name, value)


def resolve_repeat(config: pytest.Config) -> int | None:
    """How often each case is sent, at least 1; `None` if the option is not given."""
    value = config.getoption("chatprompt_repeat")
    return None if value is None else _whole_number("--chatprompt-repeat", value)


def _whole_number(name: str, value: str | int) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise pytest.UsageError(f"{name} must be a whole number from 1, but is {value!r}")
    return number


def resolve_budget_usd(config: pytest.Config) -> float | None:
    """What the run may cost, in US dollars; `None` for no limit."""
    option = config.getoption("chatprompt_budget_usd")
    name = "--chatprompt-budget-usd" if option is not None else "chatprompt_budget_usd"
    value = option if option is not None else config.getini("chatprompt_budget_usd")
    if not value:
        return None
    try:
        budget = float(value)
    except ValueError:
        budget = math.nan
    if not (math.isfinite(budget) and budget > 0):
        raise pytest.UsageError(f"{name} must be a number above 0, in US dollars, but is {value!r}")
    if config.getoption("dist", "no") != "no" or hasattr(config, "workerinput"):
        raise pytest.UsageError(
            f"{name} does not work with -n, because the workers share no budget; remove -n, or pass -n0 if your "
            "settings add it: a live run sends many requests at once without it too"
        )
    return budget
