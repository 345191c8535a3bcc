"""The tests of promptfoo's files; `make formats` compares with promptfoo itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.loader import LoadedCase, load_eval_file
from pytest_chatprompt.errors import EvalFileError
from tests.media import MP3, PNG, data_url, in_base64

HEAD = "providers: [openai:chat:gpt-x]\n"


def load(folder: Path, config: str, warnings: list[str] | None = None, **files: str | bytes) -> tuple[LoadedCase, ...]:
    """Load a config; the names of other files have `_` for `.` and `__` for `/`."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path = folder / "promptfooconfig.yaml"
    path.write_text(config, encoding="utf-8")
    told: list[Any] = []
    loaded = load_eval_file(path, folder, warn=told.append)
    if warnings is not None:
        warnings += map(str, told)
    else:
        assert told == []
    return loaded


def conversation(case: EvalCase) -> Any:
    """What a case says: the text of the user alone, or each role with its content."""
    turns = [
        (
            each.role,
            each.content
            if isinstance(each.content, str)
            else [part.model_dump(exclude_defaults=True) for part in each.parts],
        )
        for each in case.input_messages
    ]
    return turns[0][1] if [role for role, _ in turns] == ["user"] else turns


def sent(folder: Path, config: str, **files: str | bytes) -> list[Any]:
    return [conversation(each.render()) for each in load(folder, config, None, **files)]


def problems(folder: Path, config: str, **files: str | bytes) -> list[str]:
    """What is wrong with a file, or with its cases."""
    try:
        loaded = load(folder, config, [], **files)
    except EvalFileError as error:
        return str(error).split("\n")
    found: list[str] = []
    for each in loaded:
        try:
            each.render()
        except EvalFileError as error:
            found += str(error).split("\n")
    return found


def test_a_test_is_a_case_for_each_prompt_and_each_combination_of_its_variables(tmp_path: Path) -> None:
    config = """
description: Greetings
prompts:
  - Say {{ greeting }} to {{name}}
  - {label: short, raw: "{{ greeting }}, {{ name }}!"}
providers:
  - openai:gpt-x
  - {id: anthropic:messages:claude-x, label: (warm) one, config: {temperature: 0.5, max_tokens: 7}}
tests:
  - vars: {greeting: [Hi, Yo], name: Ada}
    description: greets
  - vars: {greeting: Hello, name: Grace}
"""
    loaded = load(tmp_path, config)
    assert [(each.id, each.line, conversation(each.render())) for each in loaded] == [
        ("greets #1 (prompt-1)", 10, "Say Hi to Ada"),
        ("greets #1 (short)", 10, "Hi, Ada!"),
        ("greets #2 (prompt-1)", 10, "Say Yo to Ada"),
        ("greets #2 (short)", 10, "Yo, Ada!"),
        ("test-2 (prompt-1)", 12, "Say Hello to Grace"),
        ("test-2 (short)", 12, "Hello, Grace!"),
    ]
    case = loaded[0].render()
    assert case.provider == ("openai:gpt-x", "anthropic:claude-x (warm one)")
    assert case.settings == {"anthropic:claude-x (warm one)": {"temperature": 0.5, "max_output_tokens": 7}}
    # promptfoo adds no system prompt.
    assert case.system_prompt == ""
    assert case.vars == {"greeting": "Hi", "name": "Ada"}


def test_a_test_that_is_inserted_renames_no_other_that_has_a_description(tmp_path: Path) -> None:
    first = "prompts: ['{{ a }}']\n" + HEAD + "tests:\n"
    described = "  - {description: of b, vars: {a: b}}\n"
    ids = [each.id for each in load(tmp_path, first + described)]
    assert ids == [each.id for each in load(tmp_path, first + "  - {vars: {a: c}}\n" + described)][1:]
    assert [each.id for each in load(tmp_path, first + described * 2)] == ["of b", "of b (2)"]


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("openai:gpt-5-mini", "openai:gpt-5-mini"),
        ("openai:o3", "openai:o3"),
        ("openai:chat:ft:gpt-4o:org::id", "openai:ft:gpt-4o:org::id"),
        ("openai:responses:gpt-5", "openai_responses:gpt-5"),
        # Of a model without an API promptfoo takes Responses where it is new, or has no other.
        ("openai:gpt-5.5", "openai:gpt-5.5"),
        ("openai:gpt-35-turbo", "openai:gpt-35-turbo"),
        ("openai:gpt-5.6", "openai_responses:gpt-5.6"),
        ("openai:gpt-5.10-mini", "openai_responses:gpt-5.10-mini"),
        ("openai:gpt-6-astra", "openai_responses:gpt-6-astra"),
        ("openai:gpt-5-pro", "openai_responses:gpt-5-pro"),
        ("openai:o3-pro-2025-06-10", "openai_responses:o3-pro-2025-06-10"),
        ("anthropic:claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("anthropic:messages:claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("google:gemini-2.5-pro", "gemini:gemini-2.5-pro"),
        ("vertex:gemini-2.5-pro", "gemini:gemini-2.5-pro"),
        ("azure:chat:deployment", "azure:deployment"),
        ("azureopenai:chat:deployment", "azure:deployment"),
        ("mistral:mistral-large-latest", "mistral:mistral-large-latest"),
        ("ollama:chat:llama3:8b", "ollama:llama3:8b"),
        ("ollama:llama3", "ollama:llama3"),
        ("openrouter:openai/gpt-5", "openrouter:openai/gpt-5"),
        ("bedrock:converse:us.anthropic.claude-x-v1:0", "bedrock:us.anthropic.claude-x-v1:0"),
        ("xai:grok-4", "xai:grok-4"),
        ("cloudflare-ai:chat:@cf/model", "cloudflare_ai:@cf/model"),
        # Own code, and what the vendors above have no provider for here, are fixtures.
        ("exec:python chat.py", "exec_python_chat_py"),
        ("file://providers/my.provider.py", "providers_my_provider_py"),
        ("python:chat.py", "python_chat_py"),
        ("https://example.com/api", "https_example_com_api"),
        ("openai:realtime:gpt-4o-realtime", "openai_realtime_gpt_4o_realtime"),
        ("openai:embedding:text-embedding-3", "openai_embedding_text_embedding_3"),
        ("echo", "echo"),
    ],
)
def test_an_id_names_a_provider_and_its_model_or_a_fixture(tmp_path: Path, id_: str, name: str) -> None:
    config = json.dumps({"prompts": ["Hi"], "providers": [id_]})
    assert [each.render().provider for each in load(tmp_path, config)] == [name]


def test_a_provider_that_is_listed_twice_is_told_apart_and_one_may_stand_in_a_file(tmp_path: Path) -> None:
    config = """
prompts: [Hi]
targets:
  - openai:gpt-x
  - openai:gpt-x: {config: {seed: 1}}
  - file://more.yaml
"""
    (loaded,) = load(tmp_path, config, more_yaml="- {id: google:gemini-x, config: {generationConfig: {topP: 0.5}}}")
    case = loaded.render()
    assert case.provider == ("openai:gpt-x", "openai:gpt-x (2)", "gemini:gemini-x")
    assert case.settings == {"openai:gpt-x (2)": {"seed": 1}, "gemini:gemini-x": {"top_p": 0.5}}


def test_the_settings_of_a_config_are_ours(tmp_path: Path) -> None:
    config = """
prompts: [Hi]
providers:
  - id: openai:responses:gpt-x
    config:
      apiKey: "{{ env.NO_SUCH_KEY }}"
      max_output_tokens: 5
      stop: [a]
      reasoning: {effort: low}
      passthrough: {store: false}
      response_format: {type: json_object}
      tool_choice: auto
      tools: file://tools.json
      store: true
      cost: 1
"""
    warnings: list[str] = []
    tools = [{"type": "function", "name": "f", "parameters": {"type": "object"}}]
    (loaded,) = load(tmp_path, config, warnings, tools_json=json.dumps(tools))
    # Each vendor has keys of its own, some of which look like others.
    assert warnings == [
        "promptfooconfig.yaml:14:7: 'store' of a provider's config has no effect here",
        "promptfooconfig.yaml:15:7: 'cost' of a provider's config has no effect here",
    ]
    case = loaded.render()
    assert case.settings == {
        "openai_responses:gpt-x": {
            "max_output_tokens": 5,
            "stop": ("a",),
            "reasoning_effort": "low",
            "extra_body": {"store": False},
        }
    }
    assert (case.tools, case.tool_choice, case.response_format) == ((*tools,), "auto", {"type": "json_object"})


def test_the_instructions_of_a_responses_provider_are_a_system_message(tmp_path: Path) -> None:
    config = """
prompts: [Hi]
providers:
  - {id: openai:responses:gpt-x, config: {instructions: Be kind.}}
  - {id: openai:chat:gpt-x, config: {instructions: Be kind.}}
"""
    warnings: list[str] = []
    first, second = (each.render() for each in load(tmp_path, config, warnings))
    assert (first.provider, conversation(first)) == (
        "openai_responses:gpt-x",
        [("system", "Be kind."), ("user", "Hi")],
    )
    assert (second.provider, conversation(second)) == ("openai:gpt-x", "Hi")
    assert warnings == ["promptfooconfig.yaml:5:38: 'instructions' of a provider's config has no effect here"]


def test_providers_with_tools_of_their_own_get_cases_of_their_own(tmp_path: Path) -> None:
    config = """
prompts: [Hi]
providers:
  - {id: openai:gpt-x, config: {tools: [{type: function, name: f, parameters: {type: object}}]}}
  - {id: anthropic:claude-x, config: {tools: [{name: f, input_schema: {type: object}}]}}
  - {id: openai:gpt-y, config: {tools: []}}
  - {id: anthropic:claude-y, config: {tools: [{type: web_search_20250305, name: web_search}, file://f.json]}}
  - {id: openai:gpt-z, config: {tools: [file://f.json]}}
  - {id: google:gemini-x, config: {tools: file://g.json}}
"""
    own = [{"type": "raw", "anthropic": {"type": "web_search_20250305", "name": "web_search"}}]
    own += [{"type": "raw", "gemini": {"googleSearch": {}}}]
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    files = {"f_json": json.dumps(tool), "g_json": json.dumps(own[1]["gemini"])}
    cases = [each.render() for each in load(tmp_path, config, None, **files)]
    assert [(each.id, each.provider, each.tools) for each in cases] == [
        (
            "test-1 (openai:gpt-x, anthropic:claude-x, openai:gpt-z)",
            ("openai:gpt-x", "anthropic:claude-x", "openai:gpt-z"),
            (tool,),
        ),
        ("test-1 (openai:gpt-y)", "openai:gpt-y", ()),
        ("test-1 (anthropic:claude-y)", "anthropic:claude-y", (own[0], tool)),
        ("test-1 (gemini:gemini-x)", "gemini:gemini-x", (own[1],)),
    ]


def test_prompts_and_providers_may_be_for_some(tmp_path: Path) -> None:
    config = """
prompts:
  - {label: short, raw: "Short"}
  - {id: long, raw: "Long"}
  - {label: "group:other", raw: "Other"}
  - file://p.txt
providers:
  - {id: openai:gpt-x, prompts: [short, long, p.txt]}
  - {id: anthropic:claude-x, label: claude, prompts: group}
  - openai:gpt-y
tests:
  - {}
  - {prompts: [short]}
  - {providers: [claude, "openai:gpt-y*"]}
  - {providers: []}
"""
    cases = [each.render() for each in load(tmp_path, config, p_txt="P")]
    assert [(each.id, conversation(each), each.provider) for each in cases] == [
        ("test-1 (short)", "Short", ("openai:gpt-x", "openai:gpt-y")),
        ("test-1 (prompt-2)", "Long", ("openai:gpt-x", "openai:gpt-y")),
        ("test-1 (group:other)", "Other", ("anthropic:claude-x (claude)", "openai:gpt-y")),
        ("test-1 (prompt-4)", "P", ("openai:gpt-x", "openai:gpt-y")),
        ("test-2 (short)", "Short", ("openai:gpt-x", "openai:gpt-y")),
        ("test-3 (short)", "Short", "openai:gpt-y"),
        ("test-3 (prompt-2)", "Long", "openai:gpt-y"),
        ("test-3 (group:other)", "Other", ("anthropic:claude-x (claude)", "openai:gpt-y")),
        ("test-3 (prompt-4)", "P", "openai:gpt-y"),
    ]


def test_a_provider_of_one_test_is_the_only_one_of_it(tmp_path: Path) -> None:
    config = "prompts: [Hi]\n" + HEAD + "tests: [{provider: {id: google:gemini-x, config: {seed: 1}}}]"
    (loaded,) = load(tmp_path, config)
    assert loaded.render().provider == "gemini:gemini-x"
    assert loaded.render().settings == {"gemini:gemini-x": {"seed": 1}}


def test_prompts_stand_in_files(tmp_path: Path) -> None:
    config = (
        HEAD + "prompts: [file://several.txt, one.md, 'file://more/*.txt', file://lines.jsonl, text.yaml, chat.json]"
    )
    assert sent(
        tmp_path,
        config,
        several_txt="\n\nFirst\r\n---\n\nSecond --- 2  \n  line\n ---  \n",
        one_md="# One\n\n",
        more__b_txt="b",
        more__a_txt="a\n",
        lines_jsonl='[{"role": "user", "content": "l1"}]\n[{"role": "user", "content": "l2"}]\n',
        text_yaml="a: b: c",
        chat_json='[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]',
    ) == [
        "First",
        "Second --- 2  \n  line",
        "# One\n\n",
        "a",
        "b",
        "l1",
        "l2",
        "a: b: c",
        [("system", "s"), ("user", "u")],
    ]


def test_chat_prompts_are_filled_in_inside_their_data(tmp_path: Path) -> None:
    config = (
        HEAD
        + r"""
prompts:
  - '[{"role": "{{ role }}", "content": "Say {{ text }}", "name": "{{ role }}"}]'
  - file://chat.yaml
  - '[{"role": "user", "content": {{ text | dump }}}]'
  - |
    - role: system
      content: {{ role }}
    - role: user
      content: yes
tests: [{vars: {role: user, text: 'a "b" \ c'}}]
"""
    )
    assert sent(
        tmp_path,
        config,
        chat_yaml="- role: user\n  content: |\n    Say {{ text }}\n- {role: assistant, content: yes}\n",
    ) == [
        'Say a "b" \\ c',
        [("user", 'Say a "b" \\ c\n'), ("assistant", "yes")],
        'a "b" \\ c',
        [("system", "user"), ("user", "yes")],
    ]


def test_a_text_that_ends_with_its_file_ends_with_a_line_break_as_in_js_yaml(tmp_path: Path) -> None:
    chat = "- role: user\n  content: |\n    in a file"
    assert sent(
        tmp_path,
        HEAD
        + "prompts:\n- file://c.yaml\n- |\n  {}\n- |\n  last".format(
            chat.replace("\n", "\n  ").replace("a file", "it")
        ),
        c_yaml=chat,
    ) == [
        "in a file\n",
        "in it\n",
        "last\n",
    ]


@pytest.mark.parametrize("text", ["a\n\nb", "a\n  b", "{{ x }}", "a\nuser: b"])
def test_a_text_that_promptfoo_rewrites_for_anthropic_is_sent_as_it_is_written(tmp_path: Path, text: str) -> None:
    config = {
        "prompts": ["a\nb: c", text],
        "providers": ["openai:gpt-x", "anthropic:claude-x"],
        "tests": [{"vars": {"x": "a \nb"}}],
    }
    warnings: list[str] = []
    _, loaded = load(tmp_path, json.dumps(config), warnings)
    assert conversation(loaded.render()) == text.replace("{{ x }}", "a \nb")
    assert warnings == [
        "promptfooconfig.yaml:1:25: promptfoo trims the lines of this text for Anthropic, and takes 'user:' for a role; "
        "here it is sent as it is written"
    ]
    config["providers"] = ["openai:gpt-x", "openrouter:anthropic/claude-x"]
    load(tmp_path, json.dumps(config))


def test_a_chat_prompt_may_have_tool_calls_and_media(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    parts = [
        {"type": "text", "text": "{{ q }}", "cache_control": {"type": "ephemeral"}},
        {"type": "image_url", "image_url": {"url": "{{ image }}", "detail": "low"}},
        {"type": "image_url", "image_url": "https://images.example/a.png"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
        {"type": "image", "source": {"type": "url", "url": "https://images.example/b.png"}},
        {"type": "input_audio", "input_audio": {"data": "{{ speech }}", "format": "mp3"}},
    ]
    messages = [
        {"type": "message", "role": "user", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "{{ q }}"},
        {"role": "assistant", "tool_calls": [call]},
    ]
    config = {
        "prompts": [json.dumps(messages)],
        "providers": "openai:gpt-x",
        "tests": [{"vars": {"q": "what", "image": "file://a.png", "speech": "file://a.mp3"}}],
    }
    (loaded,) = load(tmp_path, json.dumps(config), a_png=PNG, a_mp3=MP3)
    user, assistant, tool, last = loaded.render().input_messages
    text, *images = user.parts
    assert text.model_dump(exclude_defaults=True) == {"value": "what", "cache_control": {"type": "ephemeral"}}
    assert [each.model_dump(exclude_defaults=True)["value"][:30] for each in images] == [
        "data:image/png;base64,iVBORw0K",
        "https://images.example/a.png",
        "data:image/png;base64,iVBO",
        "https://images.example/b.png",
        f"data:audio/mpeg;base64,{in_base64(MP3)}"[:30],
    ]
    assert (assistant.content, assistant.tool_calls[0].id, tool.content, last.content) == (None, "1", "what", None)


def test_an_image_of_a_chat_goes_to_gemini_as_such(tmp_path: Path) -> None:
    part = {"type": "image_url", "image_url": {"url": "{{ image }}"}}
    config = {
        "prompts": [json.dumps([{"role": "user", "content": [part]}])],
        "providers": ["google:gemini-x", "openrouter:google/gemini-x"],
        "tests": [{"vars": {"image": "file://a.png"}}],
    }
    (loaded,) = load(tmp_path, json.dumps(config), a_png=PNG)
    (image,) = loaded.render().input_messages[0].parts
    assert image.model_dump(exclude_defaults=True)["value"] == data_url(PNG)


def test_variables_are_read_as_promptfoo_reads_them(tmp_path: Path) -> None:
    config = (
        HEAD
        + r"""
prompts: ["{{ v }}|"]
tests:
  - vars: {v: yes}
  - vars: {v: 5.0}
  - vars: {v: 017}
  - vars: {v: 0x1F}
  - vars: {v: 1e3}
  - vars: {v: true}
  - vars: {v: ~}
  - vars: {v: "5.0"}
  - vars: {v: [[a, 1], true]}
  - vars: {v: "x\n\n"}
  - vars: {v: "{{ w }} and {{ w }}", w: "{{ z }}", z: 1}
  - vars: {v: "{{ w | upper }}", w: a}
  - vars: {v: "{{ unknown }}"}
  - vars: {v: a, b-c: 1}
"""
    )
    assert sent(tmp_path, config) == [
        *(
            "yes|",
            "5|",
            "17|",
            "31|",
            "1000|",
            "true|",
            "|",
            "5.0|",
            "a,1,true|",
            "x\n|",
            "1 and 1|",
            "A|",
            "{{ unknown }}|",
            "a|",
        ),
    ]


def test_variables_stand_in_files_and_lists_of_texts_are_a_matrix(tmp_path: Path) -> None:
    config = (
        HEAD
        + """
prompts: ["{{ a }} {{ b }}"]
tests:
  - vars: {a: "file://texts/*.txt", b: [1, 2]}
  - vars: {a: [file://texts/a.txt, x], b: file://d.yaml}
  - {vars: {a: [x, y], b: z}, options: {disableVarExpansion: true}}
  - {vars: {}}
  - {vars: }
"""
    )
    files = {"texts__b_txt": "text b\n", "texts__a_txt": "\n text a \n", "d_yaml": "{k: [1.0, yes]}"}
    loaded = load(tmp_path, config, None, **files)
    assert [conversation(each.render()) for each in loaded[:-2]] == [
        "text a 1,2",
        "text b 1,2",
        'text a {"k":[1,"yes"]}',
        'x {"k":[1,"yes"]}',
        "x,y z",
    ]


def test_the_variables_of_a_test_stand_in_files(tmp_path: Path) -> None:
    config = (
        HEAD
        + """
prompts: ["{{ a }} {{ b }} {{ c }}"]
defaultTest: {vars: {a: d, b: d, c: d}}
tests: [{vars: one.yaml}, {vars: [one.yaml, ./two.yaml]}, {vars: "t*o.yaml"}, file://more/tests.yaml]
"""
    )
    files: dict[str, str | bytes] = {"one_yaml": "a: 1.0", "two_yaml": "{b: yes, c: file://c.txt}", "c_txt": "text"}
    texts = sent(tmp_path, config, **files, more__tests_yaml="vars: c.yaml", more__c_yaml="c: more")
    assert texts == ["1 d d", "1 yes text", "d yes text", "d d more"]


def test_tests_stand_in_files(tmp_path: Path) -> None:
    config = (
        HEAD + "prompts: ['q {{ q }}']\ntests: [file://t.csv, t.jsonl, 'file://more/*.yaml', {path: file://t.json}]"
    )
    csv = '__description,q ,__expected,__expected2,__prefix,__suffix,__providerOutput\nof a,"one\nline",contains:x,,Say ,!,\n,two,y,latency(100),,,\n,3,,,,,no'
    warnings: list[str] = []
    loaded = load(
        tmp_path,
        config,
        warnings,
        t_csv=csv,
        t_jsonl='{"vars": {"q": 5.0}}\n\n{"vars": {"q": "{{ r }}"}}',
        more__a_yaml="- vars: {q: yes}",
        more__b_yaml="vars: {q: 1}",
        t_json='[{"vars": {"q": "j"}}]',
    )
    assert warnings == [
        "promptfooconfig.yaml:3:9: a test with 'providerOutput' sends nothing; it is left out",
    ]
    assert [(each.full_id, each.row and each.row.place, conversation(each.render())) for each in loaded] == [
        ("of a", "t.csv:2:1", "Say q one\nline!"),
        ("test-2", "t.csv:4:1", "q two"),
        ("test-4", "t.jsonl:1:1", "q 5"),
        ("test-5", "t.jsonl:3:1", "q {{ r }}"),
        ("test-6", "more/a.yaml:1:3", "q yes"),
        ("test-7", "more/b.yaml:1:1", "q 1"),
        ("test-8", "t.json:1:2", "q j"),
    ]
    checks = [[(check.type, dict(check.arguments)) for check in each.render().checks] for each in loaded[:2]]
    assert checks == [
        [("contains", {"value": "x"})],
        [("equals", {"value": "y"}), ("max_latency_seconds", {"value": 0.1})],
    ]


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("javascript: output", "javascript"),
        ("fn:output", "javascript"),
        ("python: len(output)", "python"),
        ("file://check.js", "javascript"),
        ("similar(0.8): x", "similar"),
        ("not-is-refusal", "not-is-refusal"),
    ],
)
def test_a_cell_may_be_an_assert_that_is_not_graded(tmp_path: Path, cell: str, written: str) -> None:
    warnings: list[str] = []
    load(tmp_path, HEAD + "prompts: [Hi]\ntests: t.csv", warnings, t_csv=f"q,__expected\n1,{cell}\n")
    assert warnings == [
        f"promptfooconfig.yaml:3:8: an assert {written!r} grades nothing here; grade in the hook pytest_chatprompt_response, or in a "
        "fixture that takes eval_response"
    ]


def test_a_cell_may_be_a_check(tmp_path: Path) -> None:
    cells = [
        "grade: kind",
        "llm-rubric: kind",
        "contains-any: a, b",
        "is-json",
        "not-contains:x: y",
        "cost(0.5)",
        "latency",
    ]
    rows = "".join(f'1,"{cell}"\n' for cell in cells)
    loaded = load(tmp_path, HEAD + "prompts: [Hi]\ntests: t.csv", None, t_csv=f"q,__expected\n{rows}")
    assert [(each.type, dict(each.arguments)) for item in loaded for each in item.render().checks] == [
        ("llm-rubric", {"value": " kind"}),
        ("llm-rubric", {"value": "kind"}),
        ("contains-any", {"value": ("a", "b")}),
        ("is-json", {}),
        ("not-contains", {"value": "x: y"}),
        ("max_cost_usd", {"value": 0.5}),
        ("max_latency_seconds", {"value": 0.00075}),
    ]


def test_a_problem_of_what_a_row_puts_into_a_text_names_the_row(tmp_path: Path) -> None:
    config = HEAD + "prompts: ['{{ a }}']\ntests: t.csv"
    assert problems(tmp_path, config, t_csv="a\nx\n{{ b | title }}\n") == [
        "promptfooconfig.yaml:2:11: this text has 'b | title': only default, dump, join, length, load, lower, safe, trim, upper "
        "are translated, as filters (row at t.csv:3:1)"
    ]


def test_a_problem_of_a_row_names_its_place(tmp_path: Path) -> None:
    config = HEAD + "prompts: ['{{ q }} {{ x }}']\ntests: t.csv"
    assert problems(tmp_path, config, t_csv="q\n1\n") == [
        "promptfooconfig.yaml:2:11: case 'test-1': unknown variable 'x'; the variables are q (row at t.csv:2:1)"
    ]


def test_a_default_test_stands_in_for_what_a_test_leaves_out(tmp_path: Path) -> None:
    config = (
        HEAD
        + """
prompts: ["{{ a }} {{ b }}"]
defaultTest: file://default.yaml
tests:
  - {vars: {b: 2}, assert: [{type: equals, value: x}]}
  - {options: {disableDefaultAsserts: true, prefix: "My "}}
"""
    )
    default = "{vars: {a: 1, b: 0}, assert: [{type: contains, value: '{{ a }}'}], options: {prefix: 'P ', suffix: ' S', repeat: 3}}"
    first, second = (each.render() for each in load(tmp_path, config, default_yaml=default))
    assert [conversation(each) for each in (first, second)] == ["P 1 2 S", "My 1 0 S"]
    assert [(each.type, each.arguments["value"]) for each in first.checks] == [("contains", "1"), ("equals", "x")]
    assert (second.checks, first.repeat, second.repeat) == ((), 3, 3)


def test_scenarios_are_tests_with_data(tmp_path: Path) -> None:
    config = (
        HEAD
        + """
prompts: ["{{ a }} {{ b }}"]
evaluateOptions: {repeat: 2, maxConcurrency: 4}
scenarios:
  - config: [{vars: {a: 1}}, {vars: {a: 2}, assert: [{type: contains, value: x}]}]
    tests:
      - {vars: {b: 3}}
      - file://t.yaml
  - file://s.yaml
"""
    )
    cases = [
        each.render()
        for each in load(tmp_path, config, [], t_yaml="vars: {b: 4}", s_yaml="[{config: [{vars: {a: 5, b: 6}}]}]")
    ]
    assert [(conversation(each), len(each.checks), each.repeat) for each in cases] == [
        ("1 3", 0, 2),
        ("1 4", 0, 2),
        ("2 3", 1, 2),
        ("2 4", 1, 2),
    ]


def test_the_environment_is_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PF_MODEL", "gpt-e")
    config = """
env: {CITY: Paris}
prompts: ["{{ env.CITY }} {{v}} {{ env.PF_NONE | default('none') }}"]
providers: ["openai:chat:{{env.PF_MODEL}}"]
tests: [{vars: {v: "{{ env.CITY }}"}}]
"""
    (loaded,) = load(tmp_path, config)
    assert (conversation(loaded.render()), loaded.render().provider) == ("Paris Paris none", "openai:gpt-e")


def test_a_file_without_prompts_sends_the_variable_of_that_name(tmp_path: Path) -> None:
    assert sent(tmp_path, HEAD + "tests: [{vars: {prompt: Hi}}]") == ["Hi"]


def test_what_jinja_would_render_in_another_way_is_no_template_of_the_case(tmp_path: Path) -> None:
    config = (
        HEAD
        + "prompts: ['{{ a.items }} {{ l }}']\ntests: [{vars: {a: {items: x}, l: [[1, 2]]}, assert: [{type: equals, value: '{{ l }}'}]}]"
    )
    (loaded,) = load(tmp_path, config)
    case = loaded.render()
    assert (conversation(case), case.vars, case.checks[0].arguments["value"]) == ("x 1,2", None, "1,2")


@pytest.mark.parametrize(
    ("written", "check"),
    [
        ("type: contains, value: '{{ v }} 1'", ("contains", {"value": "V 1"})),
        ("type: not-contains, value: 42", ("not-contains", {"value": "42"})),
        ("type: icontains, value: a", ("icontains", {"value": "a"})),
        ("type: starts-with, value: a", ("starts-with", {"value": "a"})),
        ("type: regex, value: a+", ("regex", {"value": "a+"})),
        ("type: equals, value: file://e.txt", ("equals", {"value": "text"})),
        ("type: contains-any, value: [a, 1]", ("contains-any", {"value": ("a", "1")})),
        ("type: icontains-all, value: ' a, b,'", ("icontains-all", {"value": ("a", "b")})),
        ("type: is-json", ("is-json", {})),
        ("type: is-json, value: {type: object}", ("is-json", {"value": {"type": "object"}})),
        ("type: is-json, value: file://s.json", ("is-json", {"value": "s.json"})),
        ("type: llm-rubric, value: Is kind", ("llm-rubric", {"value": "Is kind"})),
        ("type: latency, threshold: 500", ("max_latency_seconds", {"value": 0.5})),
        ("type: not-cost, threshold: 0.01", ("not-max_cost_usd", {"value": 0.01})),
        ("$ref: '#/assertionTemplates/kind'", ("llm-rubric", {"value": "Is kind"})),
    ],
)
def test_an_assert_is_a_check(tmp_path: Path, written: str, check: Any) -> None:
    templates = "\nassertionTemplates: {kind: {type: llm-rubric, value: Is kind}}"
    config = HEAD + f"prompts: [Hi]\ntests: [{{vars: {{v: V}}, assert: [{{{written}}}]}}]{templates}"
    (loaded,) = load(tmp_path, config, e_txt=" text\n")
    ((type_, arguments),) = [(each.type, dict(each.arguments)) for each in loaded.render().checks]
    assert (type_, arguments) == check


@pytest.mark.parametrize(
    "written",
    [
        "type: javascript, value: output.length",
        "type: similar, value: x",
        "type: not-g-eval, value: x",
        "type: contains",
        "type: contains, value: {a: 1}",
        "type: contains, value: file://check.py",
        "type: contains-any, value: 'a, \"b, c\"'",
        "type: is-json, value: 'type: object'",
        "type: is-json, value: {pattern: '{{ v }}'}",
        "type: cost",
        "type: equals, value: x, transform: output.trim()",
    ],
)
def test_an_assert_that_is_not_graded_is_told_once_and_kept_for_the_live_run(tmp_path: Path, written: str) -> None:
    config = HEAD + f"prompts: [Hi]\ntests:\n  - assert: [{{{written}}}]\n  - assert: [{{{written}}}]"
    warnings: list[str] = []
    loaded = load(tmp_path, config, warnings)
    type_ = written.removeprefix("type: ").partition(",")[0]
    assert warnings == [
        f"promptfooconfig.yaml:4:21: an assert {type_!r} grades nothing here; grade in the hook pytest_chatprompt_response, or in a "
        "fixture that takes eval_response"
        if "transform" not in written
        else f"promptfooconfig.yaml:4:21: an assert {type_!r} behind a transform grades nothing here; grade in the hook pytest_chatprompt_response, or in a "
        "fixture that takes eval_response"
    ]
    assert [(each.render().checks, len(each.render().evaluators)) for each in loaded] == [((), 1), ((), 1)]


@pytest.mark.parametrize("place", ["options: {transform: output.trim()}, ", ""])
def test_no_answer_that_is_transformed_first_is_graded(tmp_path: Path, place: str) -> None:
    provider = "openai:gpt-x" if place else "{id: openai:gpt-x, transform: output.trim()}"
    config = f"prompts: [Hi]\nproviders: [{provider}]\ntests: [{{{place}assert: [{{type: equals, value: x}}]}}]"
    (loaded,) = load(tmp_path, config, [])
    assert loaded.render().checks == ()


def test_what_has_no_effect_is_warned_about_once(tmp_path: Path) -> None:
    config = (
        HEAD
        + """
prompts: [{raw: Hi, config: {temperature: 1}}]
tags: {a: b}
outputs: {path: results.json}
derivedMetrics: []
commandLineOptions: {filterRange: 1:2, cache: false}
evaluateOptions: {maxConcurrency: 1}
defaultTest: {provider: openai:gpt-y, threshold: 1}
tests:
  - {threshold: 0.5, assert: [{type: equals, value: x, weight: 2, metric: m}], options: {rubricPrompt: x}, metadata: {a: 1}}
  - {threshold: 0.5, assert: [{type: equals, value: x, weight: 2}], options: {rubricPrompt: x}}
  - file://t.csv
"""
    )
    warnings: list[str] = []
    load(tmp_path, config, warnings, t_csv="q,__metric,__metadata:a\n1,m,x\n2,m,x\n")
    assert warnings == [
        "promptfooconfig.yaml:6:1: 'derivedMetrics' of a promptfoo file has no effect here",
        "promptfooconfig.yaml:9:39: 'threshold' of the default test has no effect here",
        "promptfooconfig.yaml:9:25: 'provider' of the default test has no effect here; name it in 'providers'",
        "promptfooconfig.yaml:3:21: 'config' of a prompt has no effect here",
        "promptfooconfig.yaml:7:22: 'filterRange' of 'commandLineOptions' has no effect here",
        "promptfooconfig.yaml:13:5: the column '__metric' has no effect here",
        "promptfooconfig.yaml:13:5: the column '__metadata:a' has no effect here",
        "promptfooconfig.yaml:11:6: 'threshold' of a test has no effect here",
        "promptfooconfig.yaml:11:90: 'rubricPrompt' of the options of a test has no effect here",
        "promptfooconfig.yaml:11:56: 'weight' of an assert has no effect here",
    ]


_LINES = "promptfooconfig.yaml:"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param("prompts: ['{{ a | title }}']", "2:11: this text has 'a | title': only default, dump, join, length, load, lower, safe, trim, upper are translated, as filters", id="another-filter"),
        pytest.param("prompts: ['file://a**b*.txt']", "2:11: no file matches a**b*.txt", id="an-odd-glob"),
        pytest.param("prompts: ['file://../*']", "2:11: file ../", id="files-outside"),
        pytest.param("prompts: ['file:///etc/host*']", "2:11: ", id="files-elsewhere"),
        pytest.param("prompts: [a]\nscenarios: file://none.yaml", "3:12: file none.yaml not found; tried none.yaml", id="no-scenarios"),
        pytest.param("prompts: [a]\ntests: [{vars: {a: file://n.yaml}}]", "3:9: this has a number that JavaScript writes in another way; put it in quotes", id="an-odd-number-in-a-file"),
        pytest.param("prompts: [a, {raw: b, label: c}]\ntests: [{prompts: [x]}]", "3:20: nothing is called 'x'; there are a, c", id="no-such-prompt"),
        pytest.param("prompts: [a]\ntests: [{providers: [anthropic*]}]", "3:22: nothing is called 'anthropic*'; there are openai:chat:gpt-x", id="no-such-provider"),
        pytest.param("tests: []", "1:1: this file has no cases", id="nothing"),
        pytest.param("prompts: ['Hi {{ naem }}']\ntests: [{vars: {name: x}}]", "2:11: case 'test-1': unknown variable 'naem'; did you mean 'name'?", id="an-unknown-variable"),
        pytest.param("prompts: ['[{\"role\": \"{{ x }}\", \"content\": \"a\"}]']", "2:11: unknown variable 'x'; the variables are ", id="an-unknown-variable-in-a-role"),
        pytest.param("prompts: ['[{\"role\": \"user\", \"content\": \"{{ l }}\"}, {\"role\": \"user\", \"content\": \"{{ x }}\"}]']\ntests: [{vars: {l: [[1]]}}]", "2:11: unknown variable 'x'; the variables are l", id="an-unknown-variable-beside-what-is-no-template-here"),
        pytest.param("prompts: ['{% if a %}b{% endif %}']", "2:11: this text has '{% if a %}b{% endif %}', which is code for Nunjucks, and is not translated; write the text that is meant, or put it into a variable; {% raw %}...{% endraw %} holds braces", id="code-of-nunjucks"),
        pytest.param("prompts: [{label: x}]", "2:11: a prompt must be a text, or have one in 'raw', but is a mapping", id="no-prompt"),
        pytest.param("prompts: [file://none.txt]", "2:11: file none.txt not found; tried none.txt", id="no-such-file"),
        pytest.param("prompts: ['file://none/*.txt']", "2:11: no file matches none/*.txt", id="no-such-files"),
        pytest.param("prompts: [file://p.py:make]", "2:11: p.py:make is no file with data; write what comes of it into a file, and name that", id="a-prompt-by-code"),
        pytest.param("prompts: ['exec:make a']", "2:11: exec:make a is no file with data; write what comes of it into a file, and name that", id="a-prompt-by-a-command"),
        pytest.param("prompts: ['langfuse://greet@production:chat']", "2:11: langfuse://greet@production:chat is no file with data; write what comes of it into a file, and name that", id="a-prompt-elsewhere"),
        pytest.param("prompts: [file://a.csv]", "2:11: a.csv: prompts are read from .txt, .md, .j2, .json, .jsonl, .yaml, .yml", id="prompts-in-csv"),
        pytest.param("prompts: [file://empty.txt]", "2:11: there are no prompts in empty.txt", id="an-empty-file"),
        pytest.param("prompts: [file://refers.json]", "2:11: refers.json names other files; write what they have into it", id="a-file-in-a-file"),
        pytest.param("prompts: [file://binary.txt]", "2:11: binary.txt is not valid UTF-8 (byte 0xFF)", id="no-text"),
        pytest.param("prompts: ['{\"a\": 1}']", "2:11: this prompt is JSON, or nearly, but no list of {role: ..., content: ...}", id="json-that-is-no-chat"),
        pytest.param("prompts: ['[{\"role\": \"user\", \"content\": ]']", "2:11: this prompt is JSON, or nearly, but no list of {role: ..., content: ...}", id="nearly-json"),
        pytest.param("prompts: ['- role: [']", "2:11: this prompt, filled in, is not valid YAML: ", id="no-yaml"),
        pytest.param("prompts: ['[{\"role\": \"user\", \"content\": {\"a\": 1}}]']", "2:11: the content of a message must be a text, or a list of parts", id="odd-content"),
        pytest.param("prompts: ['[{\"role\": \"user\", \"content\": [{\"type\": \"audio\"}]}]']", "2:11: a part of a message is neither {type: text, text: ...} nor {type: image_url, ...}", id="an-odd-part"),
        pytest.param("prompts: ['[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": \"text\", \"text\": \"a\"}]}]']", "2:11: a message has two texts in a row, which are one here; write one text", id="two-texts"),
        pytest.param("prompts: [a]\ntests: [{vars: {a: 2024-01-01}}]", "3:20: 2024-01-01 is a date, which promptfoo loses; put it in quotes", id="a-date"),
        pytest.param("prompts: [a]\ntests: [{vars: {a: '{{ env.PF_NONE }}'}}]", "3:20: the environment variable PF_NONE is not set; set it, or give the file env: {PF_NONE: ...}", id="no-such-environment"),
        pytest.param("prompts: [a]\ntests: [{vars: {a: '{{ b }}', b: }}]", "3:16: promptfoo garbles {{ b }} in 'a'; write out what is meant", id="null-in-a-variable"),
        pytest.param("prompts: [a]\ntests: [{vars: [{a: b}]}]", "3:17: 'vars' must be a mapping, or name YAML files, without file://", id="odd-vars"),
        pytest.param("prompts: [a]\ndefaultTest: {vars: {b: c}}\ntests: [{vars: file://n.yaml}]", "4:16: 'vars' must be a mapping, or name YAML files, without file://", id="vars-with-a-scheme"),
        pytest.param("prompts: [a]\ntests: [{vars: none.yaml}]", "3:16: file none.yaml not found; tried none.yaml", id="no-vars"),
        pytest.param("prompts: [a]\ntests: [{vars: n.yaml}]", "3:16: n.yaml must be a mapping, but is the number 1e+300", id="a-file-without-vars"),
        pytest.param("prompts: [a]\ntests: [{vars: twice*.yaml}]", "3:16: the variable 'a' is in several of these files; leave it in one", id="vars-twice"),
        pytest.param("prompts: [a]\ndefaultTest: {vars: n.yaml}\ntests: [{vars: {a: b}}]", "3:21: 'vars' must be a mapping, but is 'n.yaml'", id="vars-of-the-default-test-in-a-file"),
        pytest.param("prompts: [a]\ndefaultTest: {vars: n.yaml}", "3:21: 'vars' must be a mapping, but is 'n.yaml'", id="vars-of-the-default-test-alone-in-a-file"),
        pytest.param("prompts: [a]\ntests: nested.yaml", "3:8: a test must be a mapping, but is 'file://m.yaml' (row at nested.yaml:2:3)", id="a-test-that-names-another-file"),
        pytest.param("prompts: [a]\ntests: [{options: file://o.yaml}]", "3:19: the options of a test must be a mapping, but is 'file://o.yaml'", id="options-in-a-file"),
        pytest.param("prompts: [a]\nscenarios: [{config: file://c.yaml, tests: [{}]}]", "3:22: a test must be a mapping, but is 'file://c.yaml'", id="data-of-a-scenario-in-a-file"),
        pytest.param("prompts: [a]\nscenarios: [{confi: [], tests: [{}]}]", "3:14: unknown key 'confi' of a scenario; did you mean 'config'?", id="a-near-miss-in-a-scenario"),
        pytest.param("prompts: [a]\nenv: file://.env", "3:6: 'env' must be a mapping, but is 'file://.env'", id="an-environment-in-a-file"),
        pytest.param("prompts: [a]\ntests: [{asert: []}]", "3:10: unknown key 'asert' of a test; did you mean 'assert'?", id="a-near-miss"),
        pytest.param("prompts: [a]\ntests: [{assert: [{type: contians}]}]", "3:26: unknown assert type 'contians'; did you mean 'contains'?", id="a-near-miss-of-a-type"),
        pytest.param("prompts: [a]\ntests: [{assert: [{type: xyzzy}]}]", "3:26: unknown assert type 'xyzzy'; promptfoo has no such type", id="no-such-type"),
        pytest.param("prompts: [a]\ntests: [{assert: [contains]}]", "3:19: an assert must be a mapping with the key 'type'", id="no-assert"),
        pytest.param("prompts: [a]\ntests: [{assert: [{$ref: '#/none'}]}]", "3:19: #/none leads to nothing in this file; write what it stands for", id="a-ref-to-nothing"),
        pytest.param("prompts: [a]\ntests: [{options: {transformVars: x}}]", "3:35: 'transformVars' is code, which is not run; write the values", id="code-for-variables"),
        pytest.param("prompts: [a]\ntests: file://t.py:make", "3:8: t.py:make is no file with data; write what comes of it into a file, and name that", id="tests-by-code"),
        pytest.param("prompts: [a]\ntests: https://docs.google.com/spreadsheets/a", "3:8: https://docs.google.com/spreadsheets/a is no file with data; write what comes of it into a file, and name that", id="tests-elsewhere"),
        pytest.param("prompts: [a]\ntests: empty.txt", "3:8: empty.txt: tests are read from .csv, .json, .jsonl, .yaml, .yml", id="tests-in-a-text"),
        pytest.param("prompts: [a]\ntests: short.csv", "3:8: short.csv:2:1: this row has not as many values as the header", id="a-short-row"),
        pytest.param("prompts: [a]\ntests: quote.csv", "3:8: quote.csv is not valid CSV: unexpected end of data; a quote inside a quoted value must be doubled", id="no-csv"),
        pytest.param("prompts: [a]\ntests: wrong.yaml", "3:8: wrong.yaml:1:4: not valid YAML: did not find expected node content", id="no-yaml-in-a-file"),
        pytest.param("prompts: [a]\ndefaultTest: file://none.yaml", "3:14: file none.yaml not found; tried none.yaml", id="no-default-test"),
        pytest.param("prompts: [a]\nredteam: {}", "3:1: 'redteam' makes its prompts while it runs, so there is nothing to lock; name other files in chatprompt_files", id="red-teaming"),
        pytest.param("prompts: [a]\nextensions: [file://a.py]", "3:1: 'extensions' may change what is sent, and is code, which is not run; remove it, or test that code itself", id="code-that-changes-prompts"),
        pytest.param("prompts: ['[{\"role\": \"user\", \"content\": \"a\"}]']\ntests: [{provider: ollama:llama}]", "2:11: promptfoo sends these messages to Ollama as one text; write 'ollama:chat:MODEL'", id="a-chat-for-a-completion"),
        pytest.param("prompts: ['- role: user']\ntests: [{provider: anthropic:claude-x}]", "2:11: promptfoo sends this YAML to some providers as a text; write it as JSON", id="yaml-for-a-provider-that-takes-none"),
        pytest.param("prompts: ['{{ image }}\n\n  Describe it']\ntests: [{vars: {image: file://a.png}, provider: google:gemini-x}]", "2:11: promptfoo sends the media in this text to Gemini as media; write the test in an eval file, with a part {type: image, value: ...}", id="media-in-a-text-for-gemini"),
        pytest.param("prompts: ['[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"{{ image }}\"}]}]']\ntests: [{vars: {image: file://a.png}, provider: google:gemini-x}]", "2:11: promptfoo sends the media in this text to Gemini as media; write the test in an eval file, with a part {type: image, value: ...}", id="media-in-a-text-of-a-chat-for-gemini"),
        pytest.param("prompts: ['[{\"role\": \"user\", \"content\": \"{{ image }}\"}]']\ntests: [{vars: {image: file://a.png}, provider: google:gemini-x}]", "2:11: promptfoo sends the media in this text to Gemini as media; write the test in an eval file, with a part {type: image, value: ...}", id="media-as-the-content-of-a-message-for-gemini"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_an_error_at_its_place(tmp_path: Path, config: str, message: str) -> None:
    files: dict[str, str | bytes] = {
        "a_csv": "x",
        "a_png": PNG,
        "empty_txt": "\n",
        "refers_json": '["file://a.txt"]',
        "binary_txt": b"\xff",
        "short_csv": "a,b\n1\n",
        "quote_csv": 'a\n"b',
        "wrong_yaml": "a: ]",
        "n_yaml": "1e300",
        "nested_yaml": "- vars: {a: b}\n- file://m.yaml",
        "twice1_yaml": "a: 1",
        "twice2_yaml": "a: 2",
    }
    (found,) = problems(tmp_path, HEAD + config, **files)
    assert found.startswith(f"promptfooconfig.yaml:{message}")


def test_a_config_with_a_template_is_an_error(tmp_path: Path) -> None:
    config = "prompts: [Hi]\nproviders: [{id: openai:gpt-x, config: {temperature: '{{ t }}'}}]"
    assert problems(tmp_path, config) == [
        "promptfooconfig.yaml:2:54: the template in 'temperature' is not filled in here; write what is meant"
    ]


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, HEAD + "prompts: [file://a.txt, file://b.txt]\ntests: [{assert: [1]}]")
    assert [each.partition(" ")[0] for each in found] == ["promptfooconfig.yaml:2:11:", "promptfooconfig.yaml:2:25:"]
