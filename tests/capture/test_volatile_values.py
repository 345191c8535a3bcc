"""What differs from run to run in what an agent sends, and what does not."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.capture.provider_capture import VolatileValues
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER

ONE, TWO = "01a20088-82d3-7980-afe4-157868d84e96", "E0871D90-1617-4200-9295-fdaca94c48af"
TEMPORARY = Path(tempfile.gettempdir()).resolve()


def replaced(data: Any, keep: str = "the task") -> Any:
    return VolatileValues(keep=keep).replace(data)


def test_each_id_has_a_number_and_keeps_it() -> None:
    specifics = VolatileValues(keep="the task")
    assert specifics.replace({"id": f"msg_{ONE}", "turn": [TWO, f"{ONE}:0"]}) == {
        "id": "msg_{id 1}",
        "turn": ["{id 2}", "{id 1}:0"],
    }
    assert specifics.replace(f'{{"session":"{TWO}"}}') == '{"session":"{id 2}"}'


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        pytest.param(lambda: f"{time.time():.0f}", "{time}", id="seconds"),
        pytest.param(lambda: f"at {time.time()!r}!", "at {time}!", id="seconds with a fraction"),
        pytest.param(lambda: f'{{"started_ms":{time.time() * 1000:.0f},', '{"started_ms":{time},', id="milliseconds"),
        pytest.param(time.time, "{time}", id="a number"),
        pytest.param(lambda: int(time.time() * 1000), "{time}", id="a number of milliseconds"),
        pytest.param(lambda: f"<date>{datetime.now().date()}</date>", "<date>{date}</date>", id="a date"),
        pytest.param(lambda: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "{time}", id="a time in UTC"),
        pytest.param(lambda: datetime.now(UTC).isoformat(), "{time}", id="a time with a zone"),
        pytest.param(lambda: f"{datetime.now():%Y-%m-%d %H:%M}.", "{time}.", id="a time without seconds"),
    ],
)
def test_times_of_the_run_are_placeholders(now: Callable[[], Any], shown: str) -> None:
    specifics = VolatileValues(keep="the task")
    assert specifics.replace(now()) == shown


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("2001-01-01", id="another date"),
        pytest.param("1000000000 and 1000000000000", id="other times"),
        pytest.param([1000000000, 1e12, 0, 3.5, -1, True, None], id="other numbers"),
        pytest.param("0123456789abcdef", id="a number in a word"),
        pytest.param(f"f{ONE} {ONE}0", id="longer than a UUID"),
        pytest.param(str(TEMPORARY / "other-abcdefgh"), id="another folder"),
    ],
)
def test_what_is_no_part_of_the_run_stays(data: Any) -> None:
    assert replaced(data) == data


def test_the_temporary_folder_of_the_run_is_a_placeholder() -> None:
    assert replaced(f"<cwd>{TEMPORARY}/chatprompt-ab_d3f9h</cwd>") == f"<cwd>{PLACEHOLDER_FOLDER}</cwd>"


def test_the_task_itself_stays_as_it_is() -> None:
    task = f"As of {datetime.now(UTC).date()}, what is {ONE}?"
    assert replaced(f"{task} <date>{datetime.now(UTC).date()}</date>", task) == f"{task} <date>{{date}}</date>"
    assert replaced(ONE, "") == "{id 1}"


def test_a_run_over_midnight_has_two_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)
    specifics = VolatileValues(keep="")
    monkeypatch.setattr(time, "time", lambda: 86400.0 * 3)
    assert specifics.replace("1970-01-01, 1970-01-04") == "{date}, {date}"
