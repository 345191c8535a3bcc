"""The texts of a page: each line once, and each text exactly as it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given, strategies as st

from pytest_chatprompt.reports.page_data import PageTexts


def joined(parts: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """The texts of all cases, as the page's script makes them."""
    lines: list[str] = []
    cases = []
    for part in parts:
        lines += part["lines"]
        for case in part["cases"]:
            texts = {}
            for name, ranges in case.items():
                pairs = zip(ranges[::2], ranges[1::2], strict=True)
                # The lines of a case stand in its own part or before it.
                assert all(start + length <= len(lines) for start, length in pairs)
                pairs = zip(ranges[::2], ranges[1::2], strict=True)
                texts[name] = "\n".join(line for start, length in pairs for line in lines[start : start + length])
            cases.append(texts)
    return cases


def test_lines_that_cases_share_stand_once() -> None:
    texts = PageTexts()
    texts.add({"sent": "a\nb\nc\n", "stored": "a\nx\nc\n"})
    texts.add({"sent": "a\nb\nnew\n"})
    texts.add({})
    assert texts.parts == [
        {
            "lines": ["a", "b", "c", "", "x", "new"],
            "cases": [{"sent": [0, 4], "stored": [0, 1, 4, 1, 2, 2]}, {"sent": [0, 2, 5, 1, 3, 1]}, {}],
        }
    ]


def test_a_part_goes_on_from_the_one_before() -> None:
    texts = PageTexts()
    for number in range(3):
        texts.add({"sent": f"shared\n{'x' * 399_990}{number}"})
    assert [part["lines"][0][:6] for part in texts.parts] == ["shared", "xxxxxx", "xxxxxx"]
    assert [part["cases"] for part in texts.parts] == [
        [{"sent": [0, 2]}],
        [{"sent": [0, 1, 2, 1]}],
        [{"sent": [0, 1, 3, 1]}],
    ]
    assert [text["sent"][-1] for text in joined(texts.parts)] == ["0", "1", "2"]


def test_many_short_cases_fill_parts_too() -> None:
    texts = PageTexts()
    for _ in range(90_000):
        texts.add({"sent": "same"})
    assert len(texts.parts) == 3


@given(st.lists(st.dictionaries(st.sampled_from(["sent", "stored"]), st.text("ab\n\r\u2028", max_size=12)), max_size=6))
def test_every_text_is_as_it_was(cases: list[dict[str, str]]) -> None:
    texts = PageTexts()
    for case in cases:
        texts.add(case)
    assert joined(texts.parts) == cases
