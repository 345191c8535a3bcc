"""The benchmark of judged repeats: it runs, and accounts for each verdict. These tests look at no durations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.benchmarks import judged_repeats


def test_each_reply_has_its_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    judged_repeats.main(["--cases=6", "--repeat=3", "--concurrency=4", "--seconds=0.01"])
    output = capsys.readouterr().out
    assert "'passed'" in output
    assert "'error'" in output


def test_a_verdict_that_is_missing_is_noticed() -> None:
    contest = judged_repeats.run_contest(2, 2, 2, 0.01)
    assert contest.is_complete
    assert not replace(contest, outcomes=Counter()).is_complete
    contest.replies.judged[1] += 1
    assert not contest.is_complete
