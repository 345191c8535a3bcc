"""The tests of Nunjucks's templates; `make formats` asks Nunjucks itself for each row."""

from __future__ import annotations

from typing import Any, Final

import pytest

from pytest_chatprompt.cases.formats.nunjucks import UnknownNameError, UnsupportedTemplateError, render

VARIABLES: Final[dict[str, Any]] = {
    "s": "Straße",
    "n": 3,
    "f": 1.5,
    "whole": 5.0,
    "yes": True,
    "nothing": None,
    "list": ["a", "b"],
    "rows": [{"name": "x", "items": [1, 2]}, {"name": "y", "items": []}],
    "order": {"a": 1, "b": "c", "k-1": "d", "items": "I"},
    "sorted": {"b": 0, "2": 0, "1": 0},
    "empty": "",
    "none": [],
    "padded": " \n pad\ufeff \n",
    "elephant": "\U0001f418",
    "template": "{{ s }}",
    "json": '{"tone": "formal", "sizes": [1, 2]}',
}
# What promptfoo's Nunjucks puts out, too.
OUTPUTS: Final = {
    "{{ s }}{{s}}{{  s}}": "StraßeStraßeStraße",
    "{{n}} {{f}} {{whole}} {{yes}} {{nothing}}|": "3 1.5 5 true |",
    "{{list}} {{ rows[0]['items'] }} {{ none }}|": "a,b 1,2 |",
    "{{ list[1] }}{{ order.a }}{{ order['k-1'] }}{{order[\"b\"]}}{{order.items}}{{rows[1].name}}": "b1dcIy",
    "{% for x in rows %}{{ loop.index }}/{{loop.length}}{{ x.name }}{{loop.index0}}{{ s }} {% endfor %}!": "1/2x0Straße 2/2y1Straße !",
    "{% for x in none %}{{ x }}{% endfor %}{%for x in list%}{{x}}{%endfor%}": "ab",
    "{% for x in rows %}{% for y in x.items %}{{ loop.index }}{{ x.name }}{{ y }} {% endfor %}{{loop.index}};{% endfor %}": "1x1 2x2 1;2;",
    "{% for k , v in order %}{{loop.index}}/{{loop.length}} {{ k }}={{ v }} {% endfor %}": "1/4 a=1 2/4 b=c 3/4 k-1=d 4/4 items=I ",
    "{{ s | upper }} {{ s|lower }} {{ padded | trim }}|{{ s | safe }}": "STRASSE straße pad|Straße",
    "{{ s | length }}{{ elephant | length }}{{ list | length() }}": "622",
    "{{ list | join(', ') }} {{ list|join }} {{ rows[0]['items'] | join(\"-\") | dump }}": 'a, b ab "1-2"',
    "{{ s|dump }}{{ order | dump }}{{ yes | dump }}{{ nothing|dump }}{{ whole|dump }}": '"Straße"{"a":1,"b":"c","k-1":"d","items":"I"}truenull5',
    "{{ list | dump(2) }}": '[\n  "a",\n  "b"\n]',
    "{{ missing | default('d') }}{{ nothing | default('d') }}{{ empty | default(\"d\") }}": "d",
    "{{ (json | load).tone }} {{(json|load)['sizes'][1]}} {{ json | load | dump }}": 'formal 2 {"tone":"formal","sizes":[1,2]}',
    "a{# {{ nothing #}b{#c#}": "ab",
    "{% raw %}{{ s }} {% if %}{% endraw %}{{ s }}": "{{ s }} {% if %}Straße",
    "{ {{ s }} } }} %} {s} 100% a # b": "{ Straße } }} %} {s} 100% a # b",
    "{{ template }}\n\n": "{{ s }}\n\n",
}


@pytest.mark.parametrize("template", OUTPUTS)
def test_a_template_puts_out_what_nunjucks_puts_out(template: str) -> None:
    assert render(template, VARIABLES) == OUTPUTS[template]


@pytest.mark.parametrize(
    "template",
    [
        "{{ s",
        "{{ s }",
        "{{ s\n}}",
        "{% for x in rows",
        "a #} b",
        "{{{ s }}}",
        "{{ s - 1 }}",
        "{{ 'text' }}",
        "{{- s -}}",
        "{#- c -#}",
        "{{ s.length }}",
        "{{ s[0] }}",
        "{{ list[2] }}",
        "{{ order.keys }}",
        "{{ order.a.b }}",
        "{{ order }}",
        "{{ rows }}",
        "{% if s %}a{% endif %}",
        "{% set a = 1 %}",
        "{% for k, v in rows %}a{% endfor %}",
        "{% for k, v in sorted %}{{ k }}{% endfor %}",
        "{{ sorted | dump }}",
        "{% for x in order %}a{% endfor %}",
        "{% for x in s %}a{% endfor %}",
        "{% for x in rows %}{% for y in rows %}{% for z in rows %}a{% endfor %}{% endfor %}{% endfor %}",
        "{% for x in rows %}{% for y in rows %}a{% endfor %}",
        "{% endfor %}",
        "{{ s | title }}",
        "{{ s | replace('a', 'b') }}",
        "{{ s | upper(1) }}",
        "{{ n | upper }}",
        "{{ n | trim }}",
        "{{ n | lower }}",
        "{{ s | join }}",
        "{{ n | length }}",
        "{{ s | load }}",
        "{{ (json | load).size }}",
        "{{ (s | upper).a }}",
    ],
)
def test_anything_else_is_refused(template: str) -> None:
    with pytest.raises(UnsupportedTemplateError):
        render(template, VARIABLES)


@pytest.mark.parametrize("number", [2**60, 1e-9, 1e300, float("inf")])
def test_a_number_that_javascript_writes_in_another_way_is_refused(number: float) -> None:
    with pytest.raises(
        UnsupportedTemplateError, match="a number that JavaScript writes in another way; put it in quotes"
    ):
        render("{{ v }}", {"v": number})


@pytest.mark.parametrize(
    "template",
    ["{{ missing }}", "{{ missing | upper }}", "{{ true }}", "{{ missing | default }}", "{{ (missing | load).a }}"],
)
def test_a_name_that_does_not_exist_is_told(template: str) -> None:
    with pytest.raises(UnknownNameError):
        render(template, VARIABLES)
