"""The formats of reports: how a run is written, by the suffix of the file.

A `RunResults` comes in; the text of a file comes out. Pure; `report_files` and the command line write it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from pytest_chatprompt.results.run_results import RunResults


def _page(run: RunResults) -> str:
    from pytest_chatprompt.reports.page import render_page  # noqa: PLC0415

    return render_page(run)


def _markdown(run: RunResults) -> str:
    from pytest_chatprompt.reports.markdown import render_markdown  # noqa: PLC0415

    return render_markdown(run)


def _json(run: RunResults) -> str:
    return json.dumps(run.as_data(), indent=1) + "\n"


# One line for each of `options.REPORT_SUFFIXES`.
FORMATS: Final[Mapping[str, Callable[[RunResults], str]]] = {".html": _page, ".md": _markdown, ".json": _json}
