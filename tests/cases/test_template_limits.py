"""The limits of a template: what would take the time or the memory of the machine is refused at once."""

from __future__ import annotations

import pytest

from pytest_chatprompt.cases import templates as template_limits
from pytest_chatprompt.cases.templates import MAX_SIZE, TemplateLimitError, Usage, check_operator, check_size, render

DOUBLING = "{% set x = 'a' * 1000000 %}"


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("{{ 'x' * 10 ** 9 }}", id="a text times a number"),
        pytest.param("{{ 10 ** 9 * 'x' }}", id="a number times a text"),
        pytest.param("{{ [1] * 10 ** 9 }}", id="a list times a number"),
        pytest.param("{{ 10 ** 99999 }}", id="a power"),
        pytest.param("{% set x = 10 ** 2000 %}{{ x * x * x }}", id="a product"),
        pytest.param(DOUBLING + "{% set x = x + x %}" * 5, id="a sum of texts"),
        pytest.param(DOUBLING + "{% set x = x ~ x %}" * 5, id="a concatenation"),
        pytest.param(DOUBLING + "{% set x %}{{ x }}{{ x }}{% endset %}" * 5, id="a block that is put out"),
        pytest.param(DOUBLING + "{{ x }}" * 21, id="the whole text"),
        pytest.param(DOUBLING + "{{ x | replace('a', x) }}", id="the filter replace"),
        pytest.param(DOUBLING + "{{ x.replace('', 'aaaaaaaaaaaaaaaaaaaaaa') }}", id="the method replace"),
        pytest.param(DOUBLING + "{{ range(99) | join(x) }}", id="the filter join"),
        pytest.param(DOUBLING + "{{ range(99) | join(d=x) }}", id="the filter join with a named argument"),
        pytest.param(DOUBLING + "{{ x.join(['', ''] * 20) }}", id="the method join"),
        pytest.param(DOUBLING + "{{ x.join(['', ''] * 20) | length }}", id="the method join, before it makes the text"),
        pytest.param("{{ 'a' | center(99999) }}", id="a width of a filter"),
        pytest.param("{{ 'a' | indent(width=99999) }}", id="a named width"),
        pytest.param("{{ [1] | batch(99999, 'x') | list }}", id="a size of a batch"),
        pytest.param("{{ [1] | slice(99999, 'x') | list }}", id="a number of slices"),
        pytest.param("{{ 'a'.ljust(99999) }}", id="a width of a method"),
        pytest.param("{{ ''.ljust(99999) }}", id="a width of a method of an empty text"),
        pytest.param("{{ ''.join(['x' * 1000000] * 30) | length }}", id="the method join of an empty text"),
        pytest.param("{{ '%99999d' % 1 }}", id="a width of an operator"),
        pytest.param("{{ '%*d' % (99999, 1) }}", id="a width that comes from a value"),
        pytest.param("{{ '%.99999f' | format(1) }}", id="a precision of a filter"),
        pytest.param("{{ '{:99999}'.format(1) }}", id="a width of a format"),
        pytest.param("{{ '{:{w}}'.format(1, w=99999) }}", id="a width within a format"),
        pytest.param("{{ '{x:99999}'.format_map({'x': 1}) }}", id="a width of a format of a mapping"),
    ],
)
def test_what_would_take_too_much_is_refused(template: str) -> None:
    with pytest.raises(TemplateLimitError):
        render(template, {})


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param(
            "{{ 10 ** 9 * 'x' }}", "the template makes a value of more than 20,971,520 characters", id="a text"
        ),
        pytest.param("{{ 10 ** 99999 }}", "the template calculates a number that is too long", id="a number"),
        pytest.param("{{ 'a' | center(99999) }}", "a width or size for 'center' is more than 10,000", id="a width"),
        pytest.param(
            "{{ ('x' * 60 ~ '%99999d') % 1 }}",
            f"a width of the format '{'x' * 50}' is too large, or is not written out",
            id="a width in a format",
        ),
    ],
)
def test_a_limit_says_what_it_is_about(template: str, text: str) -> None:
    with pytest.raises(TemplateLimitError) as caught:
        render(template, {})
    assert str(caught.value).removesuffix(".") == text


def test_the_texts_that_are_joined_count() -> None:
    assert render("{{ ','.join(['x' * 1000000]) | length }}", {}) == "1000000"
    with pytest.raises(TemplateLimitError):
        render("{{ ','.join(['x' * 1000000] * 30) | length }}", {})


def test_join_without_texts_is_the_error_of_python() -> None:
    with pytest.raises(TypeError, match="exactly one argument"):
        render("{{ ','.join() }}", {})


def test_a_width_may_be_as_large_as_the_limit() -> None:
    assert render(f"{{{{ 'a' | center({template_limits.MAX_WIDTH}) | length }}}}", {}) == str(template_limits.MAX_WIDTH)


def test_a_template_has_a_million_steps() -> None:
    assert template_limits.MAX_STEPS == 1_000_000


def test_many_rounds_of_loops_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_limits, "MAX_STEPS", 2_000)
    # The call of `range` is a step too.
    render("{% for a in range(1999) %}{% endfor %}", {})
    with pytest.raises(TemplateLimitError, match="loops and calls more than 2,000 times"):
        render("{% for a in range(2000) %}{% endfor %}", {})
    with pytest.raises(TemplateLimitError, match="loops and calls more than 2,000 times"):
        render("{% for a in range(99) %}{% for b in range(99) %}{% endfor %}{% endfor %}", {})


def test_many_calls_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # A call takes 15 times as long as a round of a loop.
    monkeypatch.setattr(template_limits, "MAX_STEPS", 10_000)
    macro = "{% macro f(n) %}{% if n %}{% set a = f(n - 1) %}{% set b = f(n - 1) %}{% endif %}{% endmacro %}"
    with pytest.raises(TemplateLimitError, match="more than 10,000 times"):
        render(macro + "{{ f(25) }}", {})


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param("{{ 'a' * 3 }}{{ 2 * 3 }}{{ 2 ** 10 }}{{ 7 % 4 }}{{ 1 + 1.5 }}", "aaa6102432.5", id="operators"),
        pytest.param("{{ 'abc'.find('c', 0, 99999) }}", "2", id="a number that is not a width"),
        pytest.param("{{ 'abc'.replace('b', 'x', 1) }}{{ 'x'.split('x', 1) }}", "axc['', '']", id="methods"),
        pytest.param("{{ 'a1' | replace(1, 2) }}", "a2", id="a filter on numbers"),
        pytest.param("{{ ','.join('ab') }}{{ '{:,}'.format(1000000) }}{{ '%5.1f' % 2 }}", "a,b1,000,000  2.0", id="formats"),
        pytest.param("{{ ','.join([]) }}", "", id="a list without texts"),
        pytest.param("{{ 'x' * 9999 }}", "x" * 9999, id="a long text"),
        pytest.param("{% for x in range(100) %}{% for y in range(100) %}.{% endfor %}{% endfor %}", "." * 10000, id="loops"),
    ],
)  # fmt: skip
def test_what_an_author_needs_is_not(template: str, text: str) -> None:
    assert render(template, {}) == text


def test_the_values_of_variables_count_where_they_are_put_out() -> None:
    half = "x" * (MAX_SIZE // 4)
    assert len(render("{{ half }}", {"half": half})) == MAX_SIZE // 4
    with pytest.raises(TemplateLimitError):
        render("{{ half }}" * 4 + "x", {"half": half})


def test_each_limit_itself_is_within_it() -> None:
    usage = Usage()
    usage.add_output(MAX_SIZE)
    with pytest.raises(TemplateLimitError):
        usage.add_output(1)
    check_size(MAX_SIZE)
    with pytest.raises(TemplateLimitError):
        check_size(MAX_SIZE + 1)
    # Numbers of 5,000 and 5,001 bits.
    check_operator("*", 1 << 4_999, 1 << 4_999)
    with pytest.raises(TemplateLimitError):
        check_operator("*", 1 << 5_000, 1 << 4_999)


@pytest.mark.parametrize("operands", [("a" * 1024, 20 * 1024 + 1), (20 * 1024 + 1, "a" * 1024)])
def test_a_text_is_not_multiplied_beyond_the_limit_whichever_stands_first(operands: tuple[object, object]) -> None:
    with pytest.raises(TemplateLimitError):
        check_operator("*", *operands)
