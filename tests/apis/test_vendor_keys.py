"""What an eval file says as the vendors say it, where an API lacks it: an error at its place."""

from __future__ import annotations

import json

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    BedrockProvider,
    ChatMessage,
    ChatProvider,
    CLIProvider,
    GeminiProvider,
    MistralProvider,
    OllamaProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    OpenRouterProvider,
    PayloadError,
    ProviderRequest,
)
from pytest_chatprompt.prompt.chat_prompt import Media, RawContent
from tests.apis.built_in import preflight_of
from tests.conftest import Project
from tests.media import PDF, PNG

AZURE = AzureProvider(deployment="d", endpoint="https://x.example")
EPHEMERAL = "cache_control: {type: ephemeral}"
HELLO = "input_messages: [{role: user, content: hello}]"


def part(written: str) -> str:
    return f"input_messages: [{{role: user, content: [{{type: text, value: hi}}, {{{written}}}]}}]"


def result(more: str) -> str:
    call = "{role: assistant, tool_calls: [{id: c, function: {name: f, arguments: '{}'}}]}"
    return f"input_messages: [{{role: user, content: hi}}, {call}, {{role: tool, tool_call_id: c, {more}}}]"


@pytest.mark.parametrize(
    ("provider", "body", "place", "text"),
    [
        (
            OpenAIProvider(),
            part(f"type: text, value: x, {EPHEMERAL}"),
            "4:70",
            "message 1: part 2: OpenAI takes no cache_control; leave it out",
        ),
        (
            OpenRouterProvider(),
            part(f"type: image, value: /a.png, {EPHEMERAL}"),
            "4:70",
            "message 1: part 2: OpenRouter takes no cache_control beside a part of type image; leave it out",
        ),
        (
            GeminiProvider(),
            part("type: image, value: /a.png, detail: low"),
            "4:70",
            "message 1: part 2: Gemini takes no detail of images; leave it out",
        ),
        (
            OpenAIProvider(),
            part("type: document, value: /a.pdf, detail: low"),
            "4:70",
            "message 1: part 2: OpenAI takes no detail of documents; leave it out",
        ),
        (
            AnthropicProvider(),
            part("type: document, value: /a.csv"),
            "4:70",
            "message 1: part 2: Anthropic takes documents as application/pdf only, and this one is text/csv; "
            "convert the file",
        ),
        (
            AZURE,
            part("type: raw, openai: {a: 1}, x: {b: 2}"),
            "4:70",
            "message 1: part 2: what is raw is for openai and x alone; leave it out for Azure OpenAI, or write what that "
            "one has under 'azure'",
        ),
        (
            OllamaProvider(),
            "input_messages: [{type: raw, openai: {role: user}}]",
            "4:22",
            "message 1: what is raw is for openai alone; leave it out for Ollama, or write what that one has under "
            "'ollama'",
        ),
        (
            MistralProvider(),
            "input_messages: [{role: user, content: hi}, {role: developer, content: x}]",
            "4:56",
            "message 2: Mistral has no developer messages; write the role system",
        ),
        (
            BedrockProvider(),
            f"tools: [{{type: function, name: f}}, {{type: raw, anthropic: {{}}}}]\n{HELLO}",
            "4:40",
            "what is raw is for anthropic alone; leave it out for Amazon Bedrock, or write what that one has under "
            "'bedrock'",
        ),
    ],
)
def test_what_an_api_lacks_is_an_error_at_its_place(
    project: Project, provider: ChatProvider, body: str, place: str, text: str
) -> None:
    for name, content in {"a.png": PNG, "a.pdf": PDF, "a.csv": b"a,b"}.items():
        (project.root / name).write_bytes(content)
    case = project.case(body)
    with pytest.raises(PayloadError) as caught:
        provider.prepare(project.request(body))
    error = caught.value
    told = text.partition(": ")[2] if text.startswith("message ") else text
    assert str(error).endswith(told)
    position = case.origin.position_of(*error.location)
    assert f"{position.line}:{position.column}" == place


@pytest.mark.parametrize("provider", [OpenAIProvider(), OpenAIResponsesProvider(), AZURE, MistralProvider()], ids=type)
def test_an_error_of_a_tool_is_its_text_where_an_api_cannot_say_so(project: Project, provider: ChatProvider) -> None:
    failed = provider.prepare(project.request(result("is_error: true, content: gone")))
    assert failed.body == provider.prepare(project.request(result("content: gone"))).body
    assert failed.adjustments == (f"message 3: is_error left out, {provider.vendor} has none",)


_CALL_WITHOUT_ID = "{type: raw, gemini: {functionCall: {name: weather, args: {}}}}"


def test_a_result_answers_a_raw_call_without_an_id_by_its_name(project: Project) -> None:
    results = ", ".join(f"{{role: tool, tool_call_id: weather, content: {city}}}" for city in ("Oslo", "Rome"))
    call = _CALL_WITHOUT_ID
    body = f"input_messages: [{{role: user, content: hi}}, {{role: assistant, content: [{call}, {call}]}}, {results}]"
    prepared = GeminiProvider(model="gemini-2.5-pro").prepare(project.request(body))
    assert prepared.body["contents"][-1]["parts"] == [
        {"functionResponse": {"name": "weather", "response": {"result": city}}} for city in ("Oslo", "Rome")
    ]
    assert prepared.findings == ()


def test_a_result_of_a_raw_call_with_an_id_has_it(project: Project) -> None:
    call = _CALL_WITHOUT_ID.replace("args", "id: c1, args")
    result = "{role: tool, tool_call_id: c1, content: Oslo}"
    body = f"input_messages: [{{role: user, content: hi}}, {{role: assistant, content: [{call}]}}, {result}]"
    prepared = GeminiProvider(model="gemini-2.5-pro").prepare(project.request(body))
    response = {"id": "c1", "name": "weather", "response": {"result": "Oslo"}}
    assert prepared.body["contents"][-1]["parts"] == [{"functionResponse": response}]


def test_a_result_answers_a_call_in_a_raw_message_of_chat_completions(project: Project) -> None:
    call = "{id: c1, type: function, function: {name: weather, arguments: '{}'}}"
    raw = f"{{type: raw, openai: {{role: assistant, tool_calls: [{call}]}}}}"
    result = "{role: tool, tool_call_id: c1, content: Oslo}"
    body = f"input_messages: [{{role: user, content: hi}}, {raw}, {result}]"
    assert OpenAIProvider().prepare(project.request(body)).findings == ()


def test_tools_of_gemini_may_all_be_raw(project: Project) -> None:
    tools = "tools: [{type: raw, gemini: {googleSearch: {}}}]"
    prepared = GeminiProvider().prepare(project.request(f"{tools}\n{HELLO}"))
    assert prepared.body["tools"] == [{"googleSearch": {}}]


def test_data_is_text_for_an_api_that_takes_no_other_result(project: Project) -> None:
    body = OpenAIProvider().prepare(project.request(result("content: {celsius: 21}"))).body
    assert body["messages"][-1]["content"] == '{\n  "celsius": 21\n}'


def test_a_marked_system_text_is_a_message_of_responses_when_it_is_raw() -> None:
    raw = RawContent({"openai_responses": {"type": "input_text", "text": "Be kind.", "prompt_cache_breakpoint": {}}})
    prompt = (ChatMessage("system", (raw,)), ChatMessage("user", "hi"))
    body = OpenAIResponsesProvider(model="m").prepare(ProviderRequest(chat_prompt=prompt)).body
    assert body == {
        "model": "m",
        "input": [{"role": "system", "content": [raw.data]}, {"role": "user", "content": "hi"}],
    }


def test_a_text_beside_what_is_raw_is_output_in_a_turn_of_the_assistant_of_responses() -> None:
    raw = RawContent({"openai_responses": {"type": "refusal", "refusal": "No."}})
    prompt = (ChatMessage("user", "hi"), ChatMessage("assistant", (raw, "Sorry.")))
    body = OpenAIResponsesProvider().prepare(ProviderRequest(chat_prompt=prompt)).body
    text = {"type": "output_text", "text": "Sorry."}
    assert body["input"][1] == {"role": "assistant", "content": [raw.data, text]}


@pytest.mark.parametrize(
    ("provider", "key", "message", "place"),
    [
        (GeminiProvider(), "gemini", {"role": "user", "parts": [{"text": "hi"}]}, "contents"),
        (BedrockProvider(region="eu-west-1"), "bedrock", {"role": "user", "content": [{"text": "hi"}]}, "messages"),
    ],
)
def test_a_raw_message_is_sent_as_it_is(
    project: Project, provider: ChatProvider, key: str, message: dict[str, object], place: str
) -> None:
    body = provider.prepare(project.request(f"input_messages: [{json.dumps({'type': 'raw', key: message})}]")).body
    assert body[place] == [message]


def test_a_raw_tool_stands_beside_functions(project: Project) -> None:
    raw, function = {"type": "web_search"}, {"type": "function", "name": "f"}
    tools = json.dumps([{"type": "raw", "mistral": raw}, function])
    sent = MistralProvider().prepare(project.request(f"tools: {tools}\n{HELLO}")).body["tools"]
    assert (sent[0], sent[1]["function"]["name"]) == (raw, "f")


def test_a_part_without_a_place_is_an_error_of_its_message() -> None:
    prompt = (ChatMessage("user", (Media("image", "a.png", "image/png", PNG, "low"),), number=3),)
    with pytest.raises(PayloadError, match="Gemini takes no detail of images") as caught:
        GeminiProvider().prepare(ProviderRequest(chat_prompt=prompt))
    assert (caught.value.message_number, caught.value.location) == (3, ())


def test_preflight_knows_the_calls_and_the_tools_that_are_raw(project: Project) -> None:
    provider = AnthropicProvider(model="claude-sonnet-4-5")
    search = "{type: raw, anthropic: {type: web_search_20250305, name: web_search}}"
    use = "{type: raw, anthropic: {type: tool_use, id: c, name: f, input: {}}}"
    said = f"{{role: user, content: hi}}, {{role: assistant, content: [{use}]}}"
    tools = f"tools: [{search}]\ntool_choice: {{type: function, name: web_search}}\n"
    answered = f"{tools}input_messages: [{said}, {{role: tool, tool_call_id: c, content: x}}]"
    assert preflight_of(provider, project.request(answered)) == ()
    (finding,) = preflight_of(provider, project.request(f"input_messages: [{said}, {{role: user, content: x}}]"))
    assert finding.rule == "tool-call-without-result"
    raw = "input_messages: [{type: raw, anthropic: {role: user, content: hi}}, {type: raw, anthropic: {}}]"
    assert [finding.rule for finding in preflight_of(provider, project.request(raw))] == []


def test_a_result_of_a_raw_call_needs_that_call_before_it(project: Project) -> None:
    body = (
        "input_messages: [{type: raw, anthropic: {role: user, content: [{id: 3, name: f}]}}, "
        "{role: tool, tool_call_id: c, content: x}]"
    )
    with pytest.raises(PayloadError, match="it answers the call 'c', but no call comes before it"):
        AnthropicProvider().prepare(project.request(body))


def test_an_agent_takes_nothing_raw(project: Project) -> None:
    request = project.request(part("type: raw, anthropic: {a: 1}"))
    with pytest.raises(PayloadError, match="an agent takes nothing raw, and this is for anthropic alone; leave it out"):
        CLIProvider(command=["cat"]).send(request)
