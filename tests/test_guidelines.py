"""Which files are guidelines (ruling B1), and the block that they make (B3 and B4)."""

from __future__ import annotations

import pytest

from pytest_chatprompt.guidelines import guideline_block, matching_pattern

INSTRUCTIONS = "**/*.instructions.md"


@pytest.mark.parametrize(
    ("paths", "patterns", "matched"),
    [
        pytest.param(["a/x.instructions.md"], [], None, id="without patterns no file is a guideline"),
        pytest.param(["a/x.instructions.md"], [INSTRUCTIONS], INSTRUCTIONS, id="two stars cross folders"),
        pytest.param(["x.instructions.md"], [INSTRUCTIONS], INSTRUCTIONS, id="two stars match no folder too"),
        pytest.param(["a/x.md"], ["*.md"], None, id="one star stays in a folder"),
        pytest.param(["a/b/x.md", "./x.md"], ["./*.md"], "./*.md", id="the path as written counts too"),
        pytest.param([".github/instructions/x.md"], ["**/instructions/*"], "**/instructions/*", id="dot folders match"),
        pytest.param(["a/x.md"], ["**/*.{txt,md}"], "**/*.{txt,md}", id="braces"),
        pytest.param(["a/x.md"], ["**/@(x|y).md"], "**/@(x|y).md", id="extended globs"),
        pytest.param(["a/x.md"], ["**/!(y).md"], "**/!(y).md", id="a negated group is no exclusion"),
        pytest.param(["a/X.MD"], ["**/*.md"], None, id="upper case differs on every platform"),
        pytest.param(["a/README.md"], ["**/*.md", "!**/README.md"], None, id="an exclusion"),
        pytest.param(["a/README.md"], ["!**/README.md", "**/*.md"], None, id="an exclusion that stands first"),
        pytest.param(["a/old/x.md", "x.md"], ["**/*.md", "!a/old/**"], None, id="an exclusion by the other name"),
        pytest.param(["a/x.md"], ["!**/README.md"], None, id="an exclusion alone includes nothing"),
        pytest.param(["a/x.md"], ["b/**", "a/**", "**"], "a/**", id="the first that matches is named"),
    ],
)
def test_a_file_is_a_guideline_by_the_first_pattern_that_matches(
    paths: list[str], patterns: list[str], matched: str | None
) -> None:
    assert matching_pattern(paths, patterns) == matched


def test_no_guidelines_make_no_block() -> None:
    assert guideline_block(()) == ""


def test_one_guideline_is_its_content_alone() -> None:
    assert guideline_block((("a.md", "Be brief."),)) == "[[ ## Guidelines ## ]]\n\nBe brief."


def test_several_guidelines_are_headed_by_their_paths() -> None:
    assert guideline_block((("a.md", "A"), ("./b.md", "B"))) == (
        "[[ ## Guidelines ## ]]\n\n=== a.md ===\nA\n\n=== ./b.md ===\nB"
    )
