"""What each API writes, it reads: requests are the same conversations, and replies the same responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given, settings, strategies as st

from pytest_chatprompt import APIStatusError, ProviderRequest, ProviderResponse
from pytest_chatprompt.apis.chat_provider import ChatProvider, preflight_body
from pytest_chatprompt.apis.conversation import Conversation, SentMedia
from pytest_chatprompt.apis.model_api import ChatAPI, read_aws_messages
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import get_api
from pytest_chatprompt.cases.message import FunctionCall, ToolCall
from pytest_chatprompt.prompt.chat_prompt import (
    ChatMessage,
    ChatPrompt,
    JSONResult,
    MarkedText,
    Media,
    RawContent,
    content_parts,
)
from pytest_chatprompt.providers.context import SendContext, use_context
from tests import media as samples
from tests.apis.built_in import chat_providers, preflight_of

every_provider = pytest.mark.parametrize("provider", chat_providers(), ids=lambda provider: provider.__name__)
OFFLINE = SendContext(is_offline=True, is_priced=False)
# So many for each API.
some_examples = pytest.mark.parametrize("examples", [10, pytest.param(50, marks=pytest.mark.soak)])

# Half a character is in no request and no reply; what is around a text stays.
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
NAMES = st.text("abcxyz_", max_size=9).map("a".__add__)
VALUES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS
LISTS = st.lists(VALUES, max_size=3)
JSON = VALUES | LISTS | st.dictionaries(TEXTS, VALUES | LISTS, max_size=2)
SCHEMAS = st.sampled_from([{"type": "object"}, {"type": "object", "properties": {"a": {"type": "string"}}}])
ARGUMENTS = st.dictionaries(TEXTS, JSON, max_size=3)
BYTES = {"image": samples.PNG, "document": samples.PDF, "audio": samples.MP3}
TYPES = {"image": "image/png", "document": "application/pdf", "audio": "audio/mpeg"}


@cache
def media(provider: type[ChatProvider], role: str) -> st.SearchStrategy[Media]:
    """The media that an API takes in the messages of a role."""
    possible = []
    for kind, support in provider.media.items():
        if role in support.roles:
            detail = "low" if support.takes_detail else None
            mark = {"type": "ephemeral"} if kind in provider.cached_kinds else None
            possible.append(Media(kind, f"a.{kind}", TYPES[kind], BYTES[kind], detail, mark))
            if support.takes_urls:
                possible.append(Media(kind, f"https://a.example/{kind}", TYPES[kind]))
    return st.sampled_from(possible) if possible else st.nothing()


# What is sent as it is: the block that each API has for a text.
RAW_TEXTS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "openai_responses": lambda text: {"type": "input_text", "text": text},
    "gemini": lambda text: {"text": text},
    "bedrock": lambda text: {"text": text},
}


def raw_text(provider: type[ChatProvider], text: str) -> RawContent:
    block = RAW_TEXTS[provider.name](text) if provider.name in RAW_TEXTS else {"type": "text", "text": text}
    return RawContent({provider.name: block, "another": {}})


@cache
def others(provider: type[ChatProvider], role: str) -> st.SearchStrategy[Any]:
    """Parts that are not plain text: media, with what an author may say of them, marked texts, what is raw."""
    parts = media(provider, role)
    if role == "assistant":
        return parts
    raw = TEXTS.map(partial(raw_text, provider)) if role == "user" else st.nothing()
    if "text" in provider.cached_kinds:
        return parts | raw | TEXTS.map(lambda text: MarkedText(text, {"type": "ephemeral", "ttl": "1h"}))
    return parts | raw


@cache
def contents(provider: type[ChatProvider], role: str) -> st.SearchStrategy[Any]:
    """A text, or texts around another part."""
    taken = others(provider, role)
    if taken.is_empty:
        return TEXTS
    around = st.lists(TEXTS | taken, max_size=2)
    return TEXTS | st.tuples(around, taken, around).map(lambda each: (*each[0], each[1], *each[2]))


@cache
def results(provider: type[ChatProvider]) -> st.SearchStrategy[Any]:
    """The contents of tool messages."""
    return st.just("") | contents(provider, "tool") | ARGUMENTS.map(lambda data: (JSONResult(data),))


@st.composite
def prompts(draw: st.DrawFn, provider: type[ChatProvider]) -> ChatPrompt:
    """A conversation that the API takes: the user begins, and results follow their calls."""
    messages = [ChatMessage("system", draw(TEXTS))]
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        messages += draw(st.lists(contents(provider, "user").map(partial(ChatMessage, "user")), min_size=1, max_size=2))
        if provider.takes_developers and draw(st.booleans()):
            messages.append(ChatMessage("developer", draw(TEXTS)))
        for names in draw(st.lists(st.lists(NAMES, min_size=1, max_size=2), max_size=2)):
            calls = []
            for name in names:
                number += 1
                arguments = json.dumps(draw(ARGUMENTS), ensure_ascii=False)
                calls.append(ToolCall(id=f"call{number}", function=FunctionCall(name=name, arguments=arguments)))
            messages.append(ChatMessage("assistant", draw(st.none() | TEXTS), tool_calls=tuple(calls)))
            messages += [
                ChatMessage(
                    "tool",
                    draw(results(provider)),
                    tool_call_id=call.id,
                    is_error=provider.takes_tool_errors and draw(st.booleans()),
                )
                for call in calls
            ]
        messages.append(ChatMessage("assistant", draw(contents(provider, "assistant"))))
    return tuple(messages[: draw(st.integers(2, len(messages)))])


def said(prompt: ChatPrompt) -> list[Any]:
    """Role, texts, media, calls and results of each message."""
    names = {call.id: call.function.name for message in prompt for call in message.tool_calls}
    return [
        (
            "system" if message.role == "developer" else message.role,
            _texts(message.role, map(_text, content_parts(message.content))),
            [(each.kind, each.source if each.content is None else len(each.content)) for each in message.media],
            [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls],
            message.tool_call_id and (message.tool_call_id, names.get(message.tool_call_id), message.is_error),
        )
        for message in prompt
    ]


def _texts(role: str, texts: Iterable[str]) -> list[Any]:
    """The texts of a message; those of a tool's result are one text in some APIs."""
    told = list(filter(None, texts))
    return [_data(text) for text in (["\n".join(told)] if role == "tool" and told else told)]


def _text(part: Any) -> str:
    """The text of a part; `""` for media."""
    if isinstance(part, RawContent):
        return str(next(iter(part.by_provider.values()))["text"])
    return "" if isinstance(part, Media) else str(part)


def _data(text: str) -> Any:
    """What a text says if it is the JSON of a tool's result, however it is laid out; else the text."""
    try:
        return json.loads(text) if text.startswith("{") else text
    except ValueError:
        return text


def read(conversation: Conversation) -> list[Any]:
    """The same of a conversation that was read from a body."""
    names = {call.id: call.name for call in conversation.tool_calls}
    return [
        (
            turn.role,
            _texts(turn.role, tuple(part for part in turn.parts if isinstance(part, str))),
            [_medium(part) for part in turn.parts if isinstance(part, SentMedia)],
            [(call.id, call.name, json.loads(call.arguments)) for call in turn.tool_calls],
            None if turn.call_id is None else (turn.call_id, turn.name or names.get(turn.call_id), turn.is_error),
        )
        for turn in conversation.turns
    ]


def _medium(each: SentMedia) -> tuple[str, object]:
    return each.kind, each.source if each.size is None else each.size


@some_examples
@every_provider
def test_a_request_is_read_back_as_the_conversation_that_it_was_written_from(provider: Any, examples: int) -> None:
    @settings(max_examples=examples)
    @given(prompts(provider))
    def check(prompt: ChatPrompt) -> None:
        with use_context(OFFLINE):
            preview = provider().prepare(ProviderRequest(chat_prompt=prompt))
        conversation = get_api(provider.offline_api).read_conversation(preview.body)
        assert read(conversation) == said(prompt)

    check()


TOOLS = st.lists(
    st.fixed_dictionaries({"type": st.just("function"), "name": NAMES | st.just("not a name"), "parameters": SCHEMAS}),
    max_size=2,
)
CHOICES = st.sampled_from([None, "auto", "required", {"type": "function", "name": "other"}])


@some_examples
@every_provider
def test_preflight_finds_the_same_in_the_body_as_in_the_request(provider: Any, examples: int) -> None:
    @settings(max_examples=examples)
    @given(prompts(provider), st.sets(st.integers(2, 15), max_size=2), TOOLS, CHOICES)
    def check(prompt: ChatPrompt, refused: set[int], tools: list[dict[str, Any]], choice: Any) -> None:
        # What APIs refuse: the user speaks in place of a result.
        messages = [
            replace(ChatMessage("user", "again") if number in refused and each.role == "tool" else each, number=number)
            for number, each in enumerate(prompt, start=1)
        ]
        request = ProviderRequest(chat_prompt=tuple(messages), tools=tuple(tools), tool_choice=choice)
        with use_context(OFFLINE):
            findings = preflight_of(provider(), request)
            api = get_api(provider.offline_api)
            assert isinstance(api, ChatAPI)
            found_in_body = preflight_body(provider(), provider().prepare(request).body, api)
        assert found_in_body == findings

    check()


CALLS = st.lists(st.fixed_dictionaries({"name": NAMES, "arguments": ARGUMENTS, "id": NAMES}), min_size=1, max_size=2)
COUNTS = st.fixed_dictionaries({"input_tokens": st.integers(0, 9999), "output_tokens": st.integers(0, 9999)})
REASONS = st.sampled_from([None, "stop", "length", "content_filter"])


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    calls = draw(st.just([]) | CALLS)
    text = draw(st.none() | TEXTS if calls else TEXTS)
    reason = None if calls else draw(REASONS)
    return Reply(text, calls, usage=draw(COUNTS), finish_reason=reason)


def answered(response: ProviderResponse) -> Mapping[str, Any]:
    """What a response says, without what its API adds."""
    calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in response.tool_calls]
    usage = response.usage
    return {"text": response.text, "calls": calls, "usage": (usage.input_tokens, usage.output_tokens)}


def wanted(reply: Reply) -> Mapping[str, Any]:
    calls = [(call["id"], call["name"], call["arguments"]) for call in reply.tool_calls]
    usage = reply.usage or {}
    return {"text": reply.text or "", "calls": calls, "usage": (usage["input_tokens"], usage["output_tokens"])}


@some_examples
@every_provider
def test_a_reply_is_read_back_as_what_was_queued_whole_and_streamed(provider: Any, examples: int) -> None:
    api = get_api(provider.offline_api)

    @settings(max_examples=examples)
    @given(replies())
    def check(reply: Reply) -> None:
        with use_context(OFFLINE._replace(replay=lambda request, _: api.answer(request, reply))):
            response = provider().send(ProviderRequest(question="Hello"))
        assert answered(response) == wanted(reply)
        is_withheld = reply.finish_reason == "content_filter"
        assert bool(response.blocked) is is_withheld
        with use_context(OFFLINE):
            preview = provider().prepare(ProviderRequest(question="Hello"))
        streamed = provider().read_reply(
            stream_of(provider.offline_api, urlsplit(preview.url).path, preview.body, reply)
        )
        assert answered(streamed) == answered(response)
        assert (streamed.finish_reason, streamed.blocked) == (response.finish_reason, response.blocked)

    check()


@every_provider
@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 413, 422, 429, 500, 503, 529])
def test_an_error_is_read_back_as_that_error(provider: Any, status: int) -> None:
    api = get_api(provider.offline_api)
    reply = Reply(error=status)
    with (
        use_context(OFFLINE._replace(replay=lambda request, _: api.answer(request, reply))),
        pytest.raises(APIStatusError, match=r"\(queued by the test\)") as raised,
    ):
        provider(max_retries=0).send(ProviderRequest(question="Hello"))
    assert raised.value.status == status


def stream_of(name: str, path: str, body: Mapping[str, Any], reply: Reply) -> Any:
    """The body of a streamed reply, put together again."""
    query = ""
    if name == "gemini":
        path, query = path.replace(":generateContent", ":streamGenerateContent"), "?alt=sse"
    elif name == "bedrock":
        path += "-stream"
    else:
        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
    request = httpx.Request("POST", f"https://a.example{path}{query}", json=body)
    api: Any = get_api(name)
    content = api.answer(request, reply).read()
    if name == "bedrock":
        return api.join_stream([{head[":event-type"]: json.loads(data)} for head, data in read_aws_messages(content)])
    return api.join_stream(list(_events(content)))


def _events(content: bytes) -> Iterator[Any]:
    for line in content.decode().splitlines():
        data = line.removeprefix("data: ")
        if data.startswith("{"):
            yield json.loads(data)
