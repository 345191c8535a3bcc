"""Which files are guidelines (rule B1)."""

from __future__ import annotations

import pytest

from pytest_chatprompt.errors import InvalidPatternError
from pytest_chatprompt.prompt.attachments import matching_pattern

INSTRUCTIONS = "**/*.instructions.md"


@pytest.mark.parametrize(
    ("paths", "patterns", "matched"),
    [
        pytest.param(["a/x.instructions.md"], [], None, id="without patterns no file is a guideline"),
        pytest.param(["a/x.instructions.md"], [INSTRUCTIONS], INSTRUCTIONS, id="two stars cross folders"),
        pytest.param(["x.instructions.md"], [INSTRUCTIONS], INSTRUCTIONS, id="two stars also match no folder at all"),
        pytest.param(["a/x.md"], ["*.md"], None, id="one star stays inside a folder"),
        pytest.param(["a/b/x.md", "./x.md"], ["./*.md"], "./*.md", id="the path as written is matched too"),
        pytest.param(
            [".github/instructions/x.md"],
            ["**/instructions/*"],
            "**/instructions/*",
            id="folders that begin with a dot match",
        ),
        pytest.param(["a/x.md"], ["**/*.{txt,md}"], "**/*.{txt,md}", id="braces"),
        pytest.param(["a/x.md"], ["**/@(x|y).md"], "**/@(x|y).md", id="extended globs"),
        pytest.param(["a/x.md"], ["**/!(y).md"], "**/!(y).md", id="a negated group is not an exclusion"),
        pytest.param(["x.md"], ["!(y).md"], "!(y).md", id="a pattern that begins with a negated group includes"),
        pytest.param(["y.md"], ["!(y).md"], None, id="a negated group does not match what it names"),
        pytest.param(["x.md"], ["*.md", "!(y).md"], "*.md", id="a negated group at the start excludes nothing"),
        pytest.param(["docs/x.md"], ["./docs/*.md"], "./docs/*.md", id="a leading ./ says nothing"),
        pytest.param(["a/docs/x.md"], ["./**/x.md"], "./**/x.md", id="a leading ./ before two stars says nothing"),
        pytest.param(["docs/x.md"], ["docs/*", "!./docs/x.md"], None, id="a leading ./ of an exclusion says nothing"),
        pytest.param(["docs/x.md"], ["././docs/x.md"], None, id="only the first ./ is left out"),
        pytest.param(["a/X.MD"], ["**/*.md"], None, id="case matters on every platform"),
        pytest.param(["a/README.md"], ["**/*.md", "!**/README.md"], None, id="an exclusion"),
        pytest.param(["a/README.md"], ["!**/README.md", "**/*.md"], None, id="an exclusion at the start"),
        pytest.param(
            ["a/old/x.md", "x.md"], ["**/*.md", "!a/old/**"], None, id="an exclusion that matches the other path"
        ),
        pytest.param(["a/x.md"], ["!**/README.md"], None, id="an exclusion alone includes nothing"),
        pytest.param(["a/x.md"], ["b/**", "a/**", "**"], "a/**", id="the first match is returned"),
    ],
)
def test_the_first_pattern_that_matches_makes_a_file_a_guideline(
    paths: list[str], patterns: list[str], matched: str | None
) -> None:
    assert matching_pattern(paths, patterns) == matched


def test_b1_braces_that_expand_to_too_many_patterns_are_refused() -> None:
    with pytest.raises(InvalidPatternError, match=r"^invalid guideline pattern '\{1\.\.2000\}': "):
        matching_pattern(["x"], ["{1..2000}"])
