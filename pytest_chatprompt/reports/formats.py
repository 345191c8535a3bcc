"""The files of reports: written in the format of their suffix, and read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from pytest_chatprompt.results.records import VERSION, RunResults
from pytest_chatprompt.snapshots.files import atomic_write
from pytest_chatprompt.text.json_data import MAX_FILE_DEPTH, parse_json
from pytest_chatprompt.wording import data_place


def _page(run: RunResults) -> str:
    from pytest_chatprompt.reports.page import render_page  # noqa: PLC0415

    return render_page(run)


def _markdown(run: RunResults) -> str:
    from pytest_chatprompt.reports.markdown import render_markdown  # noqa: PLC0415

    return render_markdown(run)


def _json(run: RunResults) -> str:
    from pytest_chatprompt.reports.review import change_results  # noqa: PLC0415

    told = run.model_copy(update={"changes": change_results(run.differing)})
    return json.dumps(told.as_data(), indent=1) + "\n"


# One line for each of `options.REPORT_SUFFIXES`.
FORMATS: Final[Mapping[str, Callable[[RunResults], str]]] = {".html": _page, ".md": _markdown, ".json": _json}


def write_report(path: Path, run: RunResults) -> str:
    """Write a run in the format of the suffix of a file; gives why it cannot be written, `""` if it can."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path.absolute(), FORMATS[path.suffix](run))
    except OSError as error:
        return error.strerror or str(error)
    return ""


_HINT: Final = "name a file that --chatprompt-report wrote with the suffix .json"


class ReportError(Exception):
    """A file is not a readable report; the text says why, and what to do."""


def read_report(path: Path) -> RunResults:
    """Read a report."""
    try:
        data: Any = parse_json(path.read_text(encoding="utf-8"), max_depth=MAX_FILE_DEPTH)
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ReportError(f"{path}: not valid JSON ({error}); {_HINT}") from error
    if not isinstance(data, dict) or "results" not in data or "version" not in data:
        raise ReportError(f"{path}: not a report; {_HINT}")
    if data["version"] != VERSION:
        raise ReportError(
            f"{path}: a report of version {data['version']!r}, and this pytest-chatprompt reads version {VERSION}; "
            "use the version of the package that wrote it, or write it again"
        )
    try:
        return RunResults.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        problem = f"{data_place(first['loc'])}: {first['msg']}"
        raise ReportError(f"{path}: not a report of this version: {problem}; {_HINT}") from error
