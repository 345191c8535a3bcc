"""Errors of templates: the sentence, and the character that it is about."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import TemplateSyntaxError

from pytest_chatprompt.cases.templates import TemplateProblem, explain_template_error, render

VARIABLES: dict[str, Any] = {"name": "Ada", "n": 3, "order": {"total": 5}}
UNKNOWN_NAMES = "the variables are name, n, order"


def problem_of(template: str, variables: dict[str, Any] | None = None) -> TemplateProblem:
    variables = VARIABLES if variables is None else variables
    try:
        render(template, variables)
    except Exception as error:
        return explain_template_error(error, template, variables)
    raise AssertionError(f"no error in {template}")


@pytest.mark.parametrize(
    ("template", "place", "text"),
    [
        pytest.param("nmae {{ nmae }}", "nmae }}", "unknown variable 'nmae'; did you mean 'name'?", id="a mistyped name"),
        pytest.param("{{ x }}", "x }}", f"unknown variable 'x'; {UNKNOWN_NAMES}", id="an unknown name"),
        pytest.param("{{ n }}\n{{ xx }} {{ n +\nxx }}", "xx }} {{", f"unknown variable 'xx'; {UNKNOWN_NAMES}", id="the first"),
        pytest.param("{{ order.totla }}", "totla }}", "there is no 'totla' in this value; did you mean 'total'?", id="a key"),
        pytest.param("{{ name.x }}", "x }}", "there is no 'x' in this value", id="an attribute"),
        pytest.param("{{ n | rond }}", "rond }}", "unknown filter 'rond'; did you mean 'round'?", id="a filter"),
        pytest.param("{{ n is ood }}", "ood }}", "unknown test 'ood'; did you mean 'odd'?", id="a test"),
        pytest.param("{{ n | qqq }}", "qqq }}", "unknown filter 'qqq'", id="a filter like no other"),
        pytest.param("a\n{{ n }} {{ m", "{{ m", "not a valid template: unexpected end of template, expected 'end of print statement'", id="a tag without an end"),
        pytest.param("{{ n }} {{ n n }} {{ n }}", "{{ n n", "not a valid template: expected token 'end of print statement', got 'n'", id="the tag that is wrong"),
        pytest.param("a\nb\n{% include 'x' %}", "{% inc", "not a valid template: a template cannot include others; attach a file as a part instead", id="include"),
        pytest.param("{{ n }} {{ name | round }}", "{{ name", "the template fails with TypeError: type str doesn't define __round__ method", id="a filter that fails"),
        pytest.param("{{ n }}{% for x in [1] %}{{ x / 0 }}{{ x }}{% endfor %}", "{{ n", "the template fails with ZeroDivisionError: division by zero", id="in a loop, the line"),
        pytest.param("a\n{% for x in [0] %}\n{{ 1 / x }}{% endfor %}", "{{ 1", "the template fails with ZeroDivisionError: division by zero", id="in a loop, alone on its line"),
        pytest.param("{% for x in [0] %}{{ x.real }}{{ 1 / 0 }}{% endfor %}", "{{ 1", "the template fails with ZeroDivisionError: division by zero", id="in a loop, behind a tag that needs it"),
        pytest.param("a {{ n }}{% for x in [1] %}{{ x / 0 }}{% endfor %}", "{{ n", "the template fails with ZeroDivisionError: division by zero", id="in a loop, behind a text"),
        pytest.param("{% if false %}{{ xx }}{% endif %}\n{{ xx }} b", "xx }} b", f"unknown variable 'xx'; {UNKNOWN_NAMES}", id="the same name in the line before"),
        pytest.param("{{ n }} or xx {{ xx }}", "xx }}", f"unknown variable 'xx'; {UNKNOWN_NAMES}", id="the same name between tags"),
        pytest.param("a\nb {{ order['x' ~ 'y'] }}", "{{ order", "there is no 'xy' in this value", id="a name that is not written"),
        pytest.param("{{ n.x }}", "x }}", "there is no 'x' in this value", id="an attribute of a number"),
        pytest.param("{{ [][3] }}", "{{", "the template fails with UndefinedError: list object has no element 3", id="an index"),
        pytest.param("{{ name.__class__ }}", "{{", "access to attribute '__class__' of 'str' object is unsafe", id="unsafe"),
        pytest.param("{{ 'x' * 10 ** 8 }}", "{{", "the template puts out more than 20,971,520 characters", id="too large"),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong_and_where(template: str, place: str, text: str) -> None:
    assert problem_of(template) == TemplateProblem(template.index(place), text)


def test_without_variables_the_error_says_so() -> None:
    assert problem_of("{{ x }}", {}).text == "unknown variable 'x'; there are no variables; add it to 'vars'"


def test_of_many_variables_the_first_are_listed() -> None:
    variables = dict.fromkeys("abcdefghijklm", 0)
    assert problem_of("{{ zzz }}", variables).text.endswith("the variables are a, b, c, d, e, f, g, h, i, j, ...")


def test_ten_variables_are_listed_whole() -> None:
    variables = dict.fromkeys("abcdefghij", 0)
    assert problem_of("{{ zzz }}", variables).text.endswith("the variables are a, b, c, d, e, f, g, h, i, j")


@pytest.mark.parametrize(("template", "line", "offset"), [("a\nb\n{{ c }}\nd", 2, 2), ("\n{{ c }}", 1, 0)])
def test_the_tags_of_other_lines_are_not_the_place(template: str, line: int, offset: int) -> None:
    assert explain_template_error(TemplateSyntaxError("Something.", line), template, {}).offset == offset


def test_an_error_that_says_nothing_is_an_error_of_the_template() -> None:
    error = TemplateSyntaxError(None, 1)  # type: ignore[arg-type] # which Jinja's own constructor allows
    assert explain_template_error(error, "a", {}) == (0, "not a valid template: it is not valid")


def test_an_error_from_outside_of_the_template_is_told_at_its_first_line() -> None:
    assert explain_template_error(MemoryError(), "{{ n }}\n{{ n }}", {}).offset == 0


def test_a_line_without_a_tag_is_the_place() -> None:
    error = TemplateSyntaxError("Something.", 2)
    assert explain_template_error(error, "a\nb\nc", {}) == (2, "not a valid template: something")


def test_too_little_memory_is_an_error_of_the_template() -> None:
    assert explain_template_error(MemoryError(), "{{ n }}", {}) == (0, "the template needs too much memory")
