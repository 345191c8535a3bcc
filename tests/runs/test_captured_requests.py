"""Captured requests as cases: what is sent of them, to whom, and what becomes of a file that is not one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.media import PNG, in_base64
from tests.runs.conftest import LIVE_CONFTEST, Run
from tests.server import CHAT_REPLY, Reply, Server

CHAT: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [{"role": "user", "content": "Hi"}],
    "max_tokens": 9,
    "temperature": 0.5,
}
TRAFFIC = """
evalcases:
  - id: traffic
    request: ./captured/*.json
"""
SDKS = f"""
import base64
import json
from pathlib import Path

import anthropic
import boto3
import openai
import pytest
from google import genai
from google.genai import types

PNG = {in_base64(PNG)!r}
DATA_URL = "data:image/png;base64," + PNG
SCHEMA = {{"type": "object", "properties": {{"city": {{"type": "string"}}}}, "required": ["city"]}}
FUNCTION = {{"name": "weather", "description": "The weather.", "parameters": SCHEMA, "strict": False}}
CALL = {{"id": "call_1", "type": "function", "function": {{"name": "weather", "arguments": '{{"city":"Paris"}}'}}}}


@pytest.fixture(autouse=True)
def keep(eval_api, eval_snapshot, request):
    yield
    assert eval_api.sent == eval_snapshot
    name = request.node.name.removeprefix("test_")
    Path("captured").mkdir(exist_ok=True)
    Path("captured", name + ".json").write_text(json.dumps(eval_api.sent[0].body))


def test_openai():
    openai.OpenAI().chat.completions.create(
        model="gpt-4o",
        messages=[
            {{"role": "system", "content": "Be brief."}},
            {{"role": "user", "content": [
                {{"type": "text", "text": "What is it?"}},
                {{"type": "image_url", "image_url": {{"url": DATA_URL, "detail": "low"}}}},
            ]}},
            {{"role": "assistant", "content": None, "tool_calls": [CALL]}},
            {{"role": "tool", "tool_call_id": "call_1", "content": '{{"celsius": 21}}'}},
        ],
        tools=[{{"type": "function", "function": FUNCTION}}],
        tool_choice="auto",
        temperature=0,
        max_tokens=100,
        seed=7,
        user="u1",
        response_format={{"type": "json_schema", "json_schema": {{"name": "answer", "schema": SCHEMA}}}},
    )


def test_responses():
    openai.OpenAI().responses.create(
        model="gpt-4o",
        instructions="Be brief.",
        input=[
            {{"role": "user", "content": [
                {{"type": "input_text", "text": "What is it?"}}, {{"type": "input_image", "image_url": DATA_URL}},
            ]}},
            {{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}},
            {{"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{{"city":"Paris"}}'}},
            {{"type": "function_call_output", "call_id": "call_1", "output": "21"}},
        ],
        tools=[{{"type": "function", **FUNCTION}}, {{"type": "web_search"}}],
        max_output_tokens=100,
        reasoning={{"effort": "low", "summary": "auto"}},
        text={{"format": {{"type": "json_schema", "name": "answer", "schema": SCHEMA}}, "verbosity": "low"}},
    )


def test_anthropic():
    image = {{"type": "image", "source": {{"type": "base64", "media_type": "image/png", "data": PNG}}}}
    anthropic.Anthropic().messages.create(
        model="claude-sonnet-5-5",
        max_tokens=2000,
        system=[{{"type": "text", "text": "Be brief.", "cache_control": {{"type": "ephemeral"}}}}],
        messages=[
            {{"role": "user", "content": [{{"type": "text", "text": "What is it?"}}, image]}},
            {{"role": "assistant", "content": [
                {{"type": "thinking", "thinking": "Hm.", "signature": "sig"}},
                {{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {{"city": "Paris"}}}},
            ]}},
            {{"role": "user", "content": [
                {{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{{"type": "text", "text": "21"}}, image]}},
            ]}},
        ],
        tools=[
            {{"name": "weather", "description": "The weather.", "input_schema": SCHEMA}},
            {{"type": "web_search_20250305", "name": "web_search"}},
        ],
        tool_choice={{"type": "any", "disable_parallel_tool_use": True}},
        thinking={{"type": "enabled", "budget_tokens": 1024}},
        stop_sequences=["END"],
    )


def test_gemini():
    call = types.FunctionCall(name="weather", args={{"city": "Paris"}})
    image = types.Part.from_bytes(data=base64.b64decode(PNG), mime_type="image/png")
    parameters = types.Schema(type="OBJECT", properties={{"city": types.Schema(type="STRING")}})
    function = types.FunctionDeclaration(name="weather", description="The weather.", parameters=parameters)
    client = genai.Client()
    client.models.generate_content(
        model="gemini-3.8-flash",
        contents=[
            types.Content(role="user", parts=[types.Part(text="What is it?"), image]),
            types.Content(role="model", parts=[types.Part(function_call=call, thought_signature=b"abc")]),
            types.Content(
                role="user", parts=[types.Part.from_function_response(name="weather", response={{"celsius": 21}})]
            ),
        ],
        config=types.GenerateContentConfig(
            system_instruction="Be brief.",
            temperature=0.5,
            tools=[types.Tool(function_declarations=[function]), types.Tool(google_search=types.GoogleSearch())],
            safety_settings=[types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")],
            thinking_config=types.ThinkingConfig(thinking_level="LOW"),
            response_mime_type="application/json",
            response_json_schema=SCHEMA,
        ),
    )


def test_bedrock():
    boto3.client("bedrock-runtime", region_name="us-east-1").converse(
        modelId="anthropic.claude-sonnet-5-5",
        system=[{{"text": "Be brief."}}, {{"cachePoint": {{"type": "default"}}}}],
        messages=[
            {{"role": "user", "content": [
                {{"text": "What is it?"}}, {{"image": {{"format": "png", "source": {{"bytes": base64.b64decode(PNG)}}}}}},
            ]}},
            {{"role": "assistant", "content": [
                {{"toolUse": {{"toolUseId": "t1", "name": "weather", "input": {{"city": "Paris"}}}}}},
            ]}},
            {{"role": "user", "content": [{{"toolResult": {{"toolUseId": "t1", "content": [{{"json": {{"celsius": 21}}}}]}}}}]}},
        ],
        inferenceConfig={{"maxTokens": 100, "stopSequences": ["END"]}},
        toolConfig={{"tools": [{{"toolSpec": {{"name": "weather", "inputSchema": {{"json": SCHEMA}}}}}}]}},
        additionalModelRequestFields={{"top_k": 5}},
    )
"""
KEYS = "OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY"
SDK_PROVIDERS = {
    "openai": "openai",
    "responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "bedrock": "bedrock",
}
LOST = {
    "openai": {'messages: detail "low" left out', 'user "u1" left out'},
    "responses": {
        'input: id "rs_1" left out',
        'input: encrypted_content "abc" left out',
        'tools "web_search" left out',
        'reasoning: summary "auto" left out',
        'text: verbosity "low" left out',
    },
    "anthropic": {
        'system: cache_control "ephemeral" left out',
        'messages: thinking "Hm." left out',
        'messages: signature "sig" left out',
        'tools: name "web_search" left out',
        "tool_choice: disable_parallel_tool_use true left out",
        "thinking: budget_tokens 1024 left out",
    },
    "gemini": {
        'contents: thoughtSignature "YWJj" left out',
        "tools: googleSearch {} left out",
        'safetySettings: category "HARM_CATEGORY_HARASSMENT" left out',
        'safetySettings: threshold "BLOCK_NONE" left out',
    },
    "bedrock": {'system: cachePoint "default" left out', "additionalModelRequestFields: top_k 5 left out"},
}


def captured(run: Run, file: str = TRAFFIC, **bodies: Any) -> Run:
    """A project with captured requests, by the names of their files."""
    run.write({"a.eval.yaml": file})
    run.write({f"captured/{name}.json": json.dumps(body) for name, body in bodies.items()})
    return run


def sent(run: Run, name: str) -> Any:
    return run.snapshot(f"__snapshots__/a.eval/{name}.yaml")


def test_what_the_sdks_send_is_sent_again_as_it_is_and_to_others_with_what_is_lost(run: Run) -> None:
    run.write(
        {"pytest.ini": f"[pytest]\nfilterwarnings = default\nchatprompt_placeholders = {KEYS}\n", "test_sdks.py": SDKS}
    )
    run.update("test_sdks.py").assert_outcomes(passed=5)
    providers = ", ".join(SDK_PROVIDERS.values())
    captured(run, f"provider: [{providers}]{TRAFFIC}")
    assert run.update("a.eval.yaml").parseoutcomes()["passed"] == 25
    for name, own in SDK_PROVIDERS.items():
        (by_sdk,) = run.snapshot(f"__snapshots__/test_sdks/test_{name}.yaml")["requests"]
        again = sent(run, f"traffic[{own}-{name}]")
        # In the same order, too.
        assert json.dumps(again["request"]) == json.dumps(by_sdk["request"])
        assert "adjustments" not in again
        for provider in {*SDK_PROVIDERS.values()} - {own}:
            other = sent(run, f"traffic[{provider}-{name}]")
            assert LOST[name] <= {*other["adjustments"]}
            said = json.dumps(other["request"])
            assert all(text in said for text in ("Be brief.", "What is it?", "weather", "Paris", "city", "21"))
            assert f"{len(PNG)} bytes" in said


@pytest.mark.parametrize(
    "pattern", ["captured/*.json", "./captured/*.json", "/captured/*.json", "../x/captured/*.json"]
)
def test_each_file_is_an_item_named_by_what_the_star_stands_for(run: Run, pattern: str) -> None:
    bodies = {f"x/captured/{name}.json": json.dumps(CHAT) for name in ("2", "10", "a.b")}
    file = TRAFFIC.replace("./captured/*.json", pattern)
    run.write({"x/a.eval.yaml": f"provider: [openai, anthropic]{file}", **bodies})
    run.write({f"captured/{name}": text for name, text in bodies.items()} if pattern.startswith("/") else {})
    if pattern.startswith("/"):
        run.write({name.removeprefix("x/"): text for name, text in bodies.items()})
    result = run("--collect-only", "-q", "x")
    names = [line.partition("::")[2] for line in result.outlines if "::" in line]
    assert names == [f"traffic[{each}-{name}]" for name in ("10", "2", "a.b") for each in ("openai", "anthropic")]


def test_files_in_folders_are_named_by_their_paths(run: Run) -> None:
    run.write({"a.eval.yaml": TRAFFIC.replace("*.json", "**/*.json")})
    run.write({f"captured/{name}.json": json.dumps(CHAT) for name in ("1", "mon/1", "tue/1")})
    run.update().assert_outcomes(passed=3)
    folder = "__snapshots__/a.eval/traffic[openai"
    assert run.snapshots() == [f"{folder}-1].yaml", f"{folder}-mon%2F1].yaml", f"{folder}-tue%2F1].yaml"]
    (run.path / "captured/tue/1.json").unlink()
    run().stdout.fnmatch_lines(["1 eval snapshot unused: *", "  __snapshots__/a.eval/traffic?openai-tue%2F1?.yaml"])


def test_stars_take_files_alone_and_not_the_snapshots_of_the_cases(run: Run) -> None:
    run.write({"a.eval.yaml": TRAFFIC.replace("captured/*.json", "**/*1*")})
    run.write(
        {"captured/1.json": json.dumps(CHAT), "__snapshots__/b.eval/x[openai-1].yaml": json.dumps(CHAT), "c1/x": ""}
    )
    run.update().assert_outcomes(passed=2)
    run.update().assert_outcomes(passed=2)
    run.write({"a.eval.yaml": TRAFFIC.replace("captured/*.json", "__snapshots__/a.eval/*")})
    run().stdout.fnmatch_lines(["a.eval.yaml:4:14: case 'traffic': no file matches ./__snapshots__/a.eval/[*]"])


BATCH = [{"custom_id": each, "url": "/v1/chat/completions", "body": {**CHAT, "seed": each}} for each in (1, 2)]


def test_each_line_of_a_log_is_an_item_named_by_its_number(run: Run) -> None:
    lines = "\n".join(map(json.dumps, [BATCH[0], CHAT])) + "\n\n" + json.dumps(BATCH[1]) + "\n"
    run.write({"a.eval.yaml": TRAFFIC.replace("captured/*.json", "log.jsonl"), "log.jsonl": lines})
    run.update().assert_outcomes(passed=3)
    assert run.snapshots() == [f"__snapshots__/a.eval/traffic[openai-{each}].yaml" for each in (1, 2, 4)]
    assert sent(run, "traffic[openai-4]")["request"] == BATCH[1]["body"]
    assert sent(run, "traffic[openai-2]")["request"] == CHAT
    run().assert_outcomes(passed=3)


def test_there_may_be_several_logs(run: Run) -> None:
    run.write({"a.eval.yaml": TRAFFIC.replace("*.json", "*")})
    run.write({"captured/mon.jsonl": json.dumps(CHAT), "captured/tue.json": json.dumps(CHAT)})
    run.update().assert_outcomes(passed=2)
    names = ("traffic[openai-mon.jsonl%3A1]", "traffic[openai-tue.json]")
    assert run.snapshots() == [f"__snapshots__/a.eval/{each}.yaml" for each in names]


def test_a_line_that_is_no_request_is_an_error_at_its_place(run: Run) -> None:
    run.write({"a.eval.yaml": TRAFFIC.replace("captured/*.json", "log.jsonl")})
    run.write({"log.jsonl": "\n".join([json.dumps(CHAT), "{", "[1]", '{"a": 1}'])})
    result = run("--snapshot-update")
    result.assert_outcomes(passed=1, errors=3)
    result.stdout.fnmatch_lines(
        [
            "log.jsonl:2:2: case 'traffic[[]2]': this line is not valid JSON: *",
            "a.eval.yaml:4:14: case 'traffic[[]3]': ./log.jsonl: this line must be a mapping, but is a list (row at log.jsonl:3:1)",
            "a.eval.yaml:4:14: case 'traffic[[]4]': ./log.jsonl: no API finds messages in it: * (row at log.jsonl:4:1)",
        ]
    )
    (run.path / "log.jsonl").write_bytes(b"\xff")
    run().stdout.fnmatch_lines(["a.eval.yaml:4:14: case 'traffic': ./log.jsonl is not valid UTF-8 *"])


def test_brackets_and_question_marks_stand_for_themselves(run: Run) -> None:
    run.write({"a.eval.yaml": TRAFFIC.replace("captured", "[slug]?")})
    run.write({f"{folder}/1.json": json.dumps(CHAT) for folder in ("[slug]?", "[slug]x", "s?")})
    run.update().assert_outcomes(passed=1)
    assert run.snapshots() == ["__snapshots__/a.eval/traffic[openai-1].yaml"]


def test_a_star_may_stand_for_nothing(run: Run) -> None:
    captured(run, TRAFFIC.replace("*.json", "1*.json"), **{"1": CHAT, "12": CHAT})
    run.update().assert_outcomes(passed=2)
    assert (
        sent(run, "traffic[openai-2]")["request"]
        == sent(run, "traffic[openai-.%2Fcaptured%2F1.json]")["request"]
        == CHAT
    )


def test_rows_variables_checks_and_outcomes_go_with_them(run: Run) -> None:
    file = """
vars: {word: Hi}
evalcases:
  - id: one
    request: ./captured/{{ id }}.json
    outcome: Greets {{ id }}.
    checks: [{type: contains, of: request, value: "{{ word }}"}]
    parametrize: [{id: a}, {id: b}]
  - id: all
    request: ./captured/*.json
    outcome: Greets {{ id }}.
"""
    conftest = "def pytest_collection_finish(session):\n    for item in session.items:\n        print(item.case.render().outcome)\n"
    body = {**CHAT, "messages": [{"role": "user", "content": "Hi {{ word }}"}]}
    captured(run, file, a=body, b=body).write({"conftest.py": conftest})
    result = run.update()
    result.assert_outcomes(passed=4)
    assert [line for line in result.outlines if line.startswith("Greets")] == ["Greets a.", "Greets b."] * 2
    # What was captured is no template.
    assert sent(run, "all[openai-a]")["request"] == body


SETTINGS = """
provider: [openai, gemini]
settings: {max_output_tokens: 7, temperature: null, extra_body: {metadata: {a: b}}, openai: {model: gpt-4.1, seed: 3}}
tools: [{type: function, name: of_the_file}]
metadata: {systemPrompt: Of the file.}
evalcases:
  - {id: set, request: ./captured/a.json}
"""


def test_settings_go_over_the_body_and_nothing_else_of_the_file_does(run: Run) -> None:
    captured(run, SETTINGS, a={**CHAT, "stop": ["X"]}).update()
    assert json.dumps(sent(run, "set[openai]")["request"]) == json.dumps(
        {
            "model": "gpt-4.1",
            "messages": CHAT["messages"],
            # Under the name that the body has for it.
            "max_tokens": 7,
            "stop": ["X"],
            "seed": 3,
            "metadata": {"a": "b"},
        }
    )
    assert sent(run, "set[gemini]")["request"] == {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": {"maxOutputTokens": 7, "stopSequences": ["X"]},
        "metadata": {"a": "b"},
    }


def test_a_setting_that_a_case_sets_is_an_error_where_the_api_lacks_it_and_a_captured_one_is_left_out(run: Run) -> None:
    file = """
provider: anthropic
evalcases:
  - {id: captured, request: ./captured/a.json}
  - {id: said, request: ./captured/a.json, settings: {seed: 2}}
"""
    result = captured(run, file, a={**CHAT, "temperature": 1, "seed": 1})("--snapshot-update")
    result.assert_outcomes(passed=1, failed=1)
    assert sent(run, "captured[anthropic]")["adjustments"] == ["Anthropic has no setting 'seed'; left out"]
    result.stdout.fnmatch_lines(["a.eval.yaml:5:55: case 'said': Anthropic has no setting 'seed'; leave it out, *"])


def test_the_model_that_a_providers_name_says_is_sent(run: Run) -> None:
    captured(run, f'provider: ["openai:gpt-4.1", "openai:gpt-4 (old)", "openai (as it is)"]{TRAFFIC}', a=CHAT).update()
    models = [run.snapshot(name)["request"]["model"] for name in run.snapshots()]
    assert sorted(models) == ["gpt-4", "gpt-4.1", "gpt-4o"]


LOGGED = {
    "openai": ({"url": "https://api.openai.com/v1/chat/completions", "body": CHAT}, "POST /chat/completions"),
    "as text": ({"url": "https://a.example/v1/chat/completions", "body": json.dumps(CHAT)}, "POST /chat/completions"),
    "within": ({"request": {"method": "POST", "path": "/v1/chat/completions", "body": CHAT}}, "POST /chat/completions"),
    "of a gateway": ({"url": "https://a.example/llm", "body": CHAT}, "POST /chat/completions"),
    "snapshot of own code": (
        {"requests": [{"endpoint": "POST /v1/chat/completions", "request": CHAT}]},
        "POST /chat/completions",
    ),
    "snapshot": ({"provider": "x", "endpoint": "POST /chat/completions", "request": CHAT}, "POST /chat/completions"),
}


@pytest.mark.parametrize("logged", LOGGED)
def test_a_body_is_found_in_what_a_proxy_logs_and_in_a_snapshot(run: Run, logged: str) -> None:
    data, endpoint = LOGGED[logged]
    captured(run, a=data).update()
    snapshot = sent(run, "traffic[openai-a]")
    assert (snapshot["endpoint"], json.dumps(snapshot["request"])) == (endpoint, json.dumps(CHAT))


def test_the_model_in_a_path_is_the_model_of_the_request(run: Run) -> None:
    file = """
evalcases:
  - {id: gemini, request: ./captured/gemini.json, provider: gemini, settings: {top_p: 0.1, seed: 2}}
  - {id: bedrock, request: ./captured/bedrock.json, provider: bedrock}
  - {id: azure, request: ./captured/azure.json, provider: [azure, openai]}
  - {id: vertex, request: ./captured/vertex.json, provider: anthropic}
"""
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
    azure = "https://x.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21"
    vertex = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4:rawPredict"
    claude = {"anthropic_version": "vertex", "max_tokens": 9, "messages": CHAT["messages"]}
    captured(
        run,
        file,
        gemini={
            "path": "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            "body": {"contents": contents, "generation_config": {"top_p": 0.5}},
        },
        bedrock={
            "url": "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse",
            "body": {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
        },
        azure={"url": azure, "body": {"messages": CHAT["messages"]}},
        vertex={"path": vertex, "body": claude},
    ).update()
    gemini = sent(run, "gemini[gemini]")
    assert gemini["endpoint"] == "POST /v1/models/gemini-2.5-pro:generateContent"
    # Google's APIs take snake case too, and a setting has one place.
    assert gemini["request"] == {"contents": contents, "generation_config": {"top_p": 0.1, "seed": 2}}
    assert sent(run, "bedrock[bedrock]")["endpoint"] == "POST /model/amazon.nova-pro-v1%3A0/converse"
    assert sent(run, "azure[azure]")["endpoint"].startswith("POST /openai/deployments/my-gpt/")
    assert sent(run, "azure[azure]")["request"] == {"messages": CHAT["messages"]}
    for name, model in (("azure[openai]", "my-gpt"), ("vertex[anthropic]", "claude-sonnet-4")):
        assert sent(run, name)["request"]["model"] == model
        assert sent(run, name)["adjustments"] == [f"model {model} added"]


def test_headers_and_streams_are_left_out_and_told_whoever_gets_the_body(run: Run) -> None:
    body = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": CHAT["messages"], "stream": True}
    logged = {
        "url": "https://api.anthropic.com/v1/messages",
        "headers": {"anthropic-beta": "files-2025", "x-api-key": "sk-ant-0123456789", "User-Agent": "x"},
        "body": body,
    }
    captured(run, f"provider: [anthropic, openai]{TRAFFIC}", a=logged).update()
    for provider in ("anthropic", "openai"):
        snapshot = sent(run, f"traffic[{provider}-a]")
        assert snapshot["adjustments"] == ["header anthropic-beta left out", "stream left out, answers are read whole"]
        assert "stream" not in snapshot["request"]


def test_what_an_api_cannot_take_is_left_out_and_told(run: Run) -> None:
    audio = {"type": "input_audio", "input_audio": {"data": in_base64(b"ID3" + bytes(9)), "format": "mp3"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Hear"}, audio]},
        {"role": "system", "content": "Be brief."},
    ]
    tools = [{"type": "custom", "custom": {"name": "code"}}, {"type": "function", "function": {"name": "f"}}]
    body = {"model": "gpt-4o", "messages": messages, "tools": tools, "tool_choice": "none", "max_tokens": 9}
    captured(run, f"provider: [bedrock, anthropic]{TRAFFIC}", a=body).update()
    bedrock, claude = sent(run, "traffic[bedrock-a]"), sent(run, "traffic[anthropic-a]")
    assert bedrock["adjustments"] == [
        "Amazon Bedrock has no tool of OpenAI's type 'custom'; left out",
        "Amazon Bedrock has no tool_choice 'none'; left out",
        "message 2: moved to the start",
    ]
    assert [[*part] for part in bedrock["request"]["messages"][0]["content"]] == [["text"], ["audio"]]
    assert [tool["toolSpec"]["name"] for tool in bedrock["request"]["toolConfig"]["tools"]] == ["f"]
    assert claude["adjustments"] == [
        "message 1: part 2: Anthropic takes no audio; left out",
        "Anthropic has no tool of OpenAI's type 'custom'; left out",
        "message 2: moved to the start",
    ]
    assert claude["request"]["messages"] == [{"role": "user", "content": "Hear"}]
    assert claude["request"]["tool_choice"] == {"type": "none"}


def test_a_message_of_which_nothing_is_left_is_left_out_and_the_only_one_is_an_error(run: Run) -> None:
    audio = {"type": "input_audio", "input_audio": {"data": in_base64(b"ID3" + bytes(9)), "format": "mp3"}}
    heard = {"role": "user", "content": [audio, audio]}
    first, *others = [{"role": role, "content": "Hello"} for role in ("user", "assistant", "user")]
    one, two = ({"model": "gpt-4o", "messages": messages} for messages in ([heard], [first, heard, *others]))
    captured(run, f"provider: anthropic{TRAFFIC}", one=one, two=two)
    result = run("--snapshot-update")
    assert sent(run, "traffic[anthropic-two]")["request"]["messages"] == [first, *others]
    assert sent(run, "traffic[anthropic-two]")["adjustments"] == [
        "message 2: part 1: Anthropic takes no audio; left out",
        "message 2: part 2: Anthropic takes no audio; left out",
    ]
    result.stdout.fnmatch_lines(["a.eval.yaml:3:5: case 'traffic?one?': message 1: part 2: Anthropic takes no audio*"])


def test_preflight_finds_what_is_wrong_with_a_captured_body(run: Run) -> None:
    body = {**CHAT, "model": "gpt-5.5", "max_tokens": 9, "temperature": 0.5}
    result = captured(run, a=body)("--snapshot-update")
    result.stdout.fnmatch_lines(["a.eval.yaml:3:5: case 'traffic?a?': OpenAI's gpt-5.5 refuses a temperature *"])


def test_an_agent_and_a_provider_of_ones_own_get_the_conversation(run: Run) -> None:
    conftest = """
import pytest
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def cli_provider():
    return CLIProvider(["agent", "{prompt_file}"])

@pytest.fixture
def own_provider():
    def own(request):
        assert request.settings == {"max_output_tokens": 9, "temperature": 0.5}
        assert request.captured.body["user"] == "u1"
        return "ok"
    return own
"""
    body = {**CHAT, "user": "u1", "messages": [{"role": "system", "content": "Be brief."}, *CHAT["messages"]]}
    captured(run, f"provider: [cli, own]{TRAFFIC}", a=body).write({"conftest.py": conftest})
    run.update().assert_outcomes(passed=2)
    own: Any = sent(run, "traffic[own-a]")
    agent: Any = sent(run, "traffic[cli-a]")
    assert own["messages"] == body["messages"]
    assert own["question"] == agent["question"] == "[System]: Be brief.\n[User]: Hi"
    assert own["adjustments"] == ['user "u1" left out']
    assert agent["prompt"].endswith(own["question"])
    settings = "settings left out, an agent takes none: temperature, max_output_tokens"
    assert agent["adjustments"] == ['user "u1" left out', settings]


def test_a_case_in_code_may_send_one(run: Run) -> None:
    module = """
import pytest
from pytest_chatprompt import EvalCase

@pytest.fixture
def eval_case():
    return EvalCase.model_validate({"id": "code", "request": "./a.json", "provider": "openai"})

def test_request(eval_request, eval_snapshot):
    assert eval_request == eval_snapshot

def test_sent(eval_response, eval_api):
    assert eval_api.sent[0].body["user"] == "u1"
"""
    run.write({"x/test_code.py": module, "x/a.json": json.dumps({**CHAT, "user": "u1"})})
    run.update().assert_outcomes(passed=2)
    assert run.snapshot("x/__snapshots__/test_code/test_request.yaml") == {
        "eval_case_id": "code",
        "metadata": {"systemPrompt": ""},
        "messages": CHAT["messages"],
        "question": "Hi",
        "settings": {"temperature": 0.5, "max_output_tokens": 9},
    }


def test_a_secret_in_a_body_is_refused(run: Run) -> None:
    body = {**CHAT, "messages": [{"role": "user", "content": "ghp_q7Rk2ZpX9vLmT4wNc8YbD3sHf6GjA1eUx5Ko"}]}
    result = captured(run, a=body)("--snapshot-update")
    result.assert_outcomes(failed=1)
    assert run.snapshots() == []


def test_live_the_captured_body_is_sent_and_models_and_providers_are_compared(run: Run, server: Server) -> None:
    conftest = LIVE_CONFTEST.format(url=server.url, settings="") + (
        "from pytest_chatprompt import AnthropicProvider\n"
        '@pytest.fixture(scope="session")\n'
        "def anthropic_provider():\n"
        f'    return AnthropicProvider(base_url="{server.url}", api_key="k")\n'
    )
    body = {**CHAT, "user": "u1", "seed": 1, "stream": True}
    captured(run, "checks: [{type: contains, value: answer}]" + TRAFFIC, a=body).write({"conftest.py": conftest})
    run.update()
    server.reply = Reply(CHAT_REPLY)
    run("--chatprompt-live").assert_outcomes(passed=1)
    without_stream = {key: value for key, value in body.items() if key != "stream"}
    assert [json.dumps(body) for _, _, body in server.requests] == [json.dumps(without_stream)]
    server.requests.clear()
    run("--chatprompt-live", "--chatprompt-ab", "model=gpt-5-mini", "--chatprompt-repeat=1")
    assert sorted(body["model"] for _, _, body in server.requests) == ["gpt-4o", "gpt-5-mini"]
    server.requests.clear()
    run("--chatprompt-live", "--chatprompt-ab", "provider=anthropic", "--chatprompt-repeat=1")
    assert sorted(body["model"] for _, _, body in server.requests) == ["claude-sonnet-5-5", "gpt-4o"]


ERRORS = """
evalcases:
  - {id: nothing, request: "./none/*.json"}
  - {id: missing, request: ./none.json}
  - {id: beside, request: ./captured/ok.json, input_messages: [{role: user, content: a}]}
  - {id: no-tools, request: ./captured/ok.json, tools: []}
  - {id: system, request: ./captured/ok.json, metadata: {systemPrompt: a}}
  - {id: api-alone, api: openai, input_messages: [{role: user, content: a}]}
  - {id: api, api: opnai, request: ./captured/ok.json}
  - {id: other-api, api: gemini, request: ./captured/ok.json}
  - {id: none, request: ./captured/none.json}
  - {id: two, request: ./captured/two.json}
  - {id: text, request: ./captured/text.json}
  - {id: cohere, request: ./captured/cohere.json}
  - {id: snapshot, request: ./captured/snapshot.json}
  - {id: folder, request: ./captured}
  - {id: number, request: 3}
  - {id: list, request: ./captured/list.json}
  - {id: several, request: ./captured/several.json}
  - {id: no-request, request: ./captured/no-request.json}
  - {id: twofold, request: "./captured/*.json", parametrize: [{id: a}]}
"""


def test_what_cannot_be_sent_is_an_error_that_says_why(run: Run) -> None:
    image = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,<image/png, 9 bytes, sha256:0123456789abcdef>"},
    }
    captured(
        run,
        ERRORS,
        ok=CHAT,
        none={"prompt": "Hi"},
        two={"model": "llama", "max_tokens": 9, "messages": CHAT["messages"]},
        text={"url": "https://api.openai.com/v1/chat/completions", "body": "Hi"},
        cohere={"url": "https://api.cohere.com/v2/chat", "body": {"model": "command", "messages": CHAT["messages"]}},
        snapshot={
            "endpoint": "POST /chat/completions",
            "request": {"messages": [{"role": "user", "content": [image]}]},
        },
        list=[CHAT],
        several={"requests": [{"endpoint": "POST /chat/completions", "request": CHAT}] * 3},
        **{"no-request": {"requests": ["a"]}},
    )
    result = run("--snapshot-update")
    assert run.snapshots() == []
    beside = "a captured request is sent as it is; leave out"
    apis = "'openai', 'openai_responses', 'anthropic', 'gemini', 'bedrock' or 'mistral'"
    assert [line for line in result.outlines if line.startswith(("a.eval.yaml:", "captured"))] == [
        "a.eval.yaml:3:28: case 'nothing': no file matches ./none/*.json",
        "a.eval.yaml:4:28: case 'missing': file ./none.json not found; tried none.json",
        f"a.eval.yaml:5:63: case 'beside': {beside} 'input_messages', or 'request'",
        f"a.eval.yaml:6:56: case 'no-tools': {beside} 'tools', or 'request'",
        f"a.eval.yaml:7:72: case 'system': {beside} 'metadata.systemPrompt', or 'request'",
        "a.eval.yaml:8:26: case 'api-alone': 'api' says whose a captured request is; write its path as 'request'",
        f"a.eval.yaml:9:20: case 'api': 'api': Input should be {apis}; did you mean 'openai'?",
        "a.eval.yaml:10:43: case 'other-api': ./captured/ok.json: gemini finds no messages in it",
        "a.eval.yaml:11:25: case 'none': ./captured/none.json: no API finds messages in it: openai in 'messages', "
        "openai_responses in 'input', anthropic in 'messages', gemini in 'contents', bedrock in 'messages'",
        "a.eval.yaml:12:24: case 'two': ./captured/two.json: it may be for openai or anthropic; say for which, "
        "such as 'api: openai'",
        "a.eval.yaml:13:25: case 'text': ./captured/text.json: its 'body' is not the body of a request to a model",
        "a.eval.yaml:14:27: case 'cohere': ./captured/cohere.json: no provider sends to cohere; if it has another's "
        "shape, say which, as 'api: openai'",
        "a.eval.yaml:15:29: case 'snapshot': ./captured/snapshot.json: it shows media by size and hash, as snapshots "
        "do; without their bytes it cannot be sent",
        "a.eval.yaml:16:27: case 'folder': ./captured: is a folder; name a file in it",
        "a.eval.yaml:17:27: case 'number': 'request' must be a string, but is the number 3; put it in quotes if you mean text",
        "captured/list.json:1:1: 'request' must be a mapping, but is a list",
        "a.eval.yaml:19:28: case 'several': ./captured/several.json: it has 3 requests, and a case sends one; copy that one "
        "to a file of its own",
        "a.eval.yaml:20:31: case 'no-request': ./captured/no-request.json: its 'requests' is not the body of a request to a model",
        "a.eval.yaml:21:28: case 'twofold[a]': file ./captured/*.json not found; tried captured/*.json (row at a.eval.yaml:21:63)",
    ]


def test_show_prints_what_is_sent(run: Run) -> None:
    result = captured(run, a=CHAT)("--chatprompt-show")
    result.stdout.fnmatch_lines(["*traffic?a?*", "*model: gpt-4o"])
