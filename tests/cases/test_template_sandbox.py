"""The sandbox: what templates may use, and that nothing of their text changes which they do not name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.cases.templates import TextTemplateError, render
from pytest_chatprompt.text.files import MAX_BYTES

VARIABLES: dict[str, Any] = {
    "name": "Ada",
    "n": 3,
    "numbers": [1, 2],
    "order": {"items": [5], "id": 7},
    "template": "{{ name }}",
    "cr": "a\r\nb",
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param("Hello {{ name }}!\n\n", "Hello Ada!\n\n", id="a variable, line breaks at the end stay"),
        pytest.param("{{ template }}", "{{ name }}", id="a value is never rendered again"),
        pytest.param("{{ numbers }} {{ order }}", "[1, 2] {'items': [5], 'id': 7}", id="lists and mappings as Python"),
        pytest.param("{{ true }} {{ none }} {{ 1.5 }}", "True None 1.5", id="booleans and null as Jinja has them"),
        pytest.param("{{ order.items }} {{ order['id'] }}", "[5] 7", id="keys come before methods"),
        pytest.param("{{ order.keys() | list }}", "['items', 'id']", id="methods too"),
        pytest.param(
            "{% for x in numbers %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}", "1/2:1 2/2:2 ", id="loops"
        ),
        pytest.param("{% if x is defined %}{{ x }}{% endif %}{{ y | default('-') }}", "-", id="tests of what is missing"),
        pytest.param("{{ name ~ n ~ (n ~ n) }} {{ n + 1 }} {{ n ** 2 }} {{ '%s!' % n }}", "Ada333 4 9 3!", id="operators"),
        pytest.param("{{ '{:>3}'.format(n) }}{{ name.center(5) }}", "  3 Ada ", id="methods of a text"),
        pytest.param("{{ numbers | join(', ') }} {{ name | replace('A', 'a') }}", "1, 2 ada", id="filters"),
        pytest.param("{{ numbers | slice(2) | list }} {{ name | indent(2) }}", "[[1], [2]] Ada", id="more filters"),
        pytest.param("{{ '<b>' }} {{ {'b': '<ä>', 'a': 1} | tojson }}", '<b> {"b": "<ä>", "a": 1}', id="no HTML"),
        pytest.param("{{ [1] | tojson(indent=1) }}", "[\n 1\n]", id="JSON with an indent"),
        pytest.param("{% raw %}{{ name }}{% endraw %}{# no #}", "{{ name }}", id="raw text and comments"),
        pytest.param("{% macro hi(x) %}hi {{ x }}{% endmacro %}{{ hi(name) }}", "hi Ada", id="macros"),
        pytest.param("{{ cr }}", "a\r\nb", id="carriage returns of values stay"),
    ],
)  # fmt: skip
def test_a_template_gives_its_text(template: str, text: str) -> None:
    assert render(template, VARIABLES) == text


@given(st.text().filter(lambda text: "{" not in text and "\r" not in text))
def test_text_around_variables_stays_as_it_is(text: str) -> None:
    assert render(f"{text}{{{{ x }}}}{text}", {"x": text}) == text * 3


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("{{ nobody }}", id="a variable"),
        pytest.param("{{ order.nobody }}", id="an entry"),
        pytest.param("{{ numbers | map(attribute='nobody') | list }}", id="an attribute of each in a list"),
        pytest.param("{% for x in nobody %}{% endfor %}", id="a loop"),
        pytest.param("{% if nobody %}{% endif %}", id="a condition"),
        pytest.param("{{ lipsum() }}", id="what differs from run to run"),
    ],
)
def test_an_unknown_name_is_an_error(template: str) -> None:
    with pytest.raises(
        TextTemplateError, match=r"^line 1: (unknown variable|'\w+ object' has no attribute) '(nobody|lipsum)'"
    ):
        render(template, VARIABLES)


def test_what_differs_from_run_to_run_is_a_syntax_error() -> None:
    with pytest.raises(TextTemplateError, match="no filter named 'random'"):
        render("{{ numbers | random }}", VARIABLES)


@pytest.mark.parametrize(
    "template", ["{% include 'x' %}", "{% import 'x' as y %}", "{% from 'x' import y %}", "{% extends 'x' %}"]
)
def test_a_template_reads_no_other(template: str) -> None:
    with pytest.raises(TextTemplateError, match="no loader"):
        render(template, VARIABLES)


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("{{ ''.__class__ }}", id="an attribute of Python's"),
        pytest.param("{{ name | attr('__class__') }}", id="by the filter"),
        pytest.param("{{ '{0.__class__}'.format(n) }}", id="by a format"),
        pytest.param("{{ numbers.append(3) }}", id="a change"),
        pytest.param("{% set x = order.update({}) %}", id="a change of a mapping"),
        pytest.param("{{ render.__globals__ }}", id="a name of this module"),
    ],
)
def test_a_template_reaches_nothing_of_python(template: str) -> None:
    with pytest.raises(TextTemplateError, match=r"unsafe|undefined|unknown variable"):
        render(template, VARIABLES)
    assert VARIABLES["numbers"] == [1, 2]


def test_views_of_mappings_have_a_text() -> None:
    assert render("{{ order.keys() }}", VARIABLES) == "dict_keys(['items', 'id'])"


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("{{ x }}" * 21, id="the whole text"),
        pytest.param("{% for i in range(21) %}{{ x }}{% endfor %}", id="a loop"),
    ],
)
def test_a_text_that_is_too_long_is_refused_as_it_is_put_out(template: str) -> None:
    with pytest.raises(TextTemplateError, match="the template puts out more than 20,971,520 characters"):
        render(template, {"x": "a" * 1_000_000})


def test_a_text_may_be_as_long_as_an_attached_file() -> None:
    assert len(render("{{ x }}{{ x }}", {"x": "a" * (MAX_BYTES // 2)})) == MAX_BYTES
