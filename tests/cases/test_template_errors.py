"""Errors of templates: the sentence, and the line that it is about."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import TemplateSyntaxError

from pytest_chatprompt.cases.templates import TextTemplateError, explain_template_error, render

VARIABLES: dict[str, Any] = {"name": "Ada", "n": 3, "order": {"total": 5}}
UNKNOWN_NAMES = "the variables are name, n, order"


def problem_of(template: str, variables: dict[str, Any] | None = None) -> str:
    with pytest.raises(TextTemplateError) as caught:
        render(template, VARIABLES if variables is None else variables)
    return str(caught.value)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param("nmae {{ nmae }}", "line 1: unknown variable 'nmae'; did you mean 'name'?", id="a mistyped name"),
        pytest.param("{{ x }}", f"line 1: unknown variable 'x'; {UNKNOWN_NAMES}", id="an unknown name"),
        pytest.param("{{ n }}\n{{ xx }} {{ n +\nxx }}", f"line 2: unknown variable 'xx'; {UNKNOWN_NAMES}", id="the first"),
        pytest.param("{{ order.totla }}", "line 1: 'dict object' has no attribute 'totla'", id="a key"),
        pytest.param("{{ name.x }}", "line 1: 'str object' has no attribute 'x'", id="an attribute"),
        pytest.param("{{ n | rond }}", "line 1: not a valid template: no filter named 'rond'", id="a filter"),
        pytest.param("a\n{{ n }} {{ m", "line 2: not a valid template: unexpected end of template, expected 'end of print statement'", id="a tag without an end"),
        pytest.param("{{ n }} {{ n n }} {{ n }}", "line 1: not a valid template: expected token 'end of print statement', got 'n'", id="the tag that is wrong"),
        pytest.param("a\nb\n{% include 'x' %}", "line 3: the template fails with TypeError: no loader for this environment specified", id="include"),
        pytest.param("{{ n }} {{ name | round }}", "line 1: the template fails with TypeError: type str doesn't define __round__ method", id="a filter that fails"),
        pytest.param("a\n{% for x in [0] %}\n{{ 1 / x }}{% endfor %}", "line 3: the template fails with ZeroDivisionError: division by zero", id="in a loop"),
        pytest.param("a\nb {{ order['x' ~ 'y'] }}", "line 2: 'dict object' has no attribute 'xy'", id="a name that is not written"),
        pytest.param("{{ [][3] }}", "line 1: list object has no element 3", id="an index"),
        pytest.param("{{ name.__class__ }}", "line 1: access to attribute '__class__' of 'str' object is unsafe", id="unsafe"),
        pytest.param("{{ 'x' * 21 * 10 ** 6 }}", "line 1: the template puts out more than 20,971,520 characters", id="too large"),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong_and_in_which_line(template: str, text: str) -> None:
    assert problem_of(template) == text


def test_without_variables_the_error_says_so() -> None:
    assert problem_of("{{ x }}", {}) == "line 1: unknown variable 'x'; there are no variables; add it to 'vars'"


def test_of_many_variables_the_first_are_listed() -> None:
    variables = dict.fromkeys("abcdefghijklm", 0)
    assert problem_of("{{ zzz }}", variables).endswith("the variables are a, b, c, d, e, f, g, h, i, j, ...")


def test_ten_variables_are_listed_whole() -> None:
    variables = dict.fromkeys("abcdefghij", 0)
    assert problem_of("{{ zzz }}", variables).endswith("the variables are a, b, c, d, e, f, g, h, i, j")


def test_an_error_that_says_nothing_is_an_error_of_the_template() -> None:
    error = TemplateSyntaxError(None, 1)  # type: ignore[arg-type] # which Jinja's own constructor allows
    assert explain_template_error(error, {}) == "not a valid template: it is not valid"
