"""Mistral's chat completions and embeddings: OpenAI's, except media, ids, a few fields, the streams and the errors.

Sources: https://docs.mistral.ai/api, the package `mistralai` (3.7, `client/models/`: `chatcompletionrequest.py`,
`contentchunk.py`), and for what the API refuses the package `mistral-common` (`protocol/instruct/validator.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, ClassVar, Final

from pytest_chatprompt.apis import message_rules, option_rules
from pytest_chatprompt.apis.model_api import FinishReasons, ModelAPI, pieces, server_sent_event
from pytest_chatprompt.apis.openai import (
    OPENAI_NAME,
    CompatibleProvider,
    OpenAIChat,
    OpenAIProvider,
    image_part,
    written_call,
)
from pytest_chatprompt.apis.openai_embeddings import OpenAIEmbeddings
from pytest_chatprompt.apis.preflight import Rule, about_calls, about_definitions
from pytest_chatprompt.apis.reply import Answer, ModelRequest, Reply
from pytest_chatprompt.apis.vendor_api import NO_ARGUMENTS, MediaSupport, MediaTable, Payload, SettingField, choose_one
from pytest_chatprompt.prompt.chat_prompt import ChatPrompt, Media, describe_messages
from pytest_chatprompt.providers.response import ProviderResponse

_VALIDATOR: Final = (
    "https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py"
)


def _document(media: Media) -> dict[str, Any]:
    return {"type": "document_url", "document_url": media.url, "document_name": media.file_name}


class MistralProvider(CompatibleProvider):
    """Sends chat prompts to Mistral, at `{base_url}/chat/completions`.

    Args:
        model: the model's name.
        base_url: including the version; `None` reads it in a live run from the environment variable
            `MISTRAL_API_BASE`, and without that it is `https://api.mistral.ai/v1`.
        max_tokens_parameter: the name under which `max_output_tokens` is sent.
        settings: see `ChatSettings`.
    """

    default_model = "mistral-large-latest"
    vendor = "Mistral"
    price_vendor = "mistral"
    key_variable = "MISTRAL_API_KEY"
    # litellm's name; the package `mistralai` reads none.
    base_url_variable = "MISTRAL_API_BASE"
    default_base_url = "https://api.mistral.ai/v1"
    offline_api = "mistral"
    tool_types = ("function",)
    setting_fields: Mapping[str, SettingField] = {
        **OpenAIProvider.setting_fields,
        "max_output_tokens": SettingField(("max_tokens",)),
        "seed": SettingField(("random_seed",)),
    }
    name = "mistral"
    media: ClassVar[MediaTable] = {
        "image": MediaSupport(image_part, takes_urls=True, takes_detail=True),
        "document": MediaSupport(_document, takes_urls=True),
        # https://docs.mistral.ai/capabilities/audio_transcription
        "audio": MediaSupport(lambda media: {"type": "input_audio", "input_audio": media.base64}),
    }
    takes_developers = False
    rules = (
        about_calls("tool-call-id", _VALIDATOR, message_rules.results_without_id),
        about_calls("tool-call-without-result", _VALIDATOR, message_rules.calls_without_results),
        about_calls("user-after-result", _VALIDATOR, message_rules.users_after_results),
        about_calls("call-id", _VALIDATOR, message_rules.call_ids(r"[a-zA-Z0-9]{9}", "9 of a-z, A-Z and 0-9")),
        about_definitions("tool-name", _VALIDATOR, option_rules.tool_names(*OPENAI_NAME)),
        Rule("last-turn", _VALIDATOR, message_rules.assistant_message_last),
    )

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """OpenAI's body; its messages have no names."""
        adjustments = tuple(
            f"{describe_messages([message])}: name {message.name!r} left out, {self.vendor} has none"
            for message in prompt
            if message.name is not None
        )
        payload = super().build_payload(tuple(replace(message, name=None) for message in prompt))
        return Payload(payload.body, adjustments)

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`tools`, each with its definition nested; the API demands a schema of the arguments."""
        payload = super().tools_payload(tools)
        for tool in payload.body["tools"]:
            if "function" in tool:
                tool["function"] = {"parameters": NO_ARGUMENTS, **tool["function"]}
        return payload

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`tool_choice`: `auto`, `none`, `required` or one function."""
        choose_one(choice, self.vendor, "auto, none, required")
        return super().tool_choice_payload(choice)

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the first choice, without its thinking; one that ends with an error sets `blocked`."""
        response = super().read_reply(data)
        return response.model_copy(update={"blocked": "error"}) if response.finish_reason == "error" else response


class MistralErrors(ModelAPI):
    """The errors of Mistral's APIs."""

    error_words: ClassVar[Mapping[int, str]] = {
        401: "invalid_request_unauthorized",
        403: "invalid_request_forbidden",
        404: "invalid_request_not_found",
        429: "rate_limited",
        4: "invalid_request_error",
        500: "internal_server_error",
        5: "service_unavailable",
    }

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:
        """The body of an error; status 422 has a list of details."""
        kind = self.error_word(status)
        if status == HTTPStatus.UNPROCESSABLE_ENTITY:
            return {"detail": [{"loc": ["body"], "msg": message, "type": kind}]}
        about = {"param": None, "code": None, "request_id": f"req_{model_request.digest[:24]}"}
        return {"object": "error", "message": message, "type": kind, **about}


class MistralChat(MistralErrors, OpenAIChat):
    """Mistral's chat completions; only the host tells them from OpenAI's."""

    # Nine letters and digits, the only form that Mistral accepts.
    call_ids = "{digest:.9}"
    finish_reasons = FinishReasons(content_filter="error")

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """OpenAI's body with only the fields that Mistral sends."""
        body = super().body(model_request, answer)
        for choice in body["choices"]:
            del choice["logprobs"]
        usage = {name: count for name, count in body["usage"].items() if name.endswith("_tokens")}
        kept = {key: body[key] for key in ("object", "created", "model", "choices")}
        return {"id": answer.digest[:32], **kept, "usage": usage}

    def message(self, answer: Answer) -> dict[str, Any]:
        """A message without the fields that Mistral does not have."""
        calls = [*map(written_call, answer.tool_calls)]
        return {"role": "assistant", "tool_calls": calls or None, "content": answer.text or ""}

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG002 - all is in the body
        """Chunks: the text piece by piece, all calls at once, the usage with the last one."""
        head = {key: body[key] for key in body if key != "usage"} | {"object": "chat.completion.chunk"}
        for choice in body["choices"]:
            message, chunk = choice["message"], {"index": choice["index"], "finish_reason": None}
            texts = ({"content": piece} for piece in pieces(message["content"]))
            for delta in ({"role": "assistant", "content": ""}, *texts):
                yield server_sent_event({**head, "choices": [{**chunk, "delta": delta}]})
            calls = [{**call, "index": place} for place, call in enumerate(message["tool_calls"] or ())]
            rest = {"content": "", **({"tool_calls": calls} if calls else {})}
            ended = {**chunk, "delta": rest, "finish_reason": choice["finish_reason"]}
            yield server_sent_event({**head, "choices": [ended], "usage": body["usage"]})
        yield b"data: [DONE]\n\n"


class MistralEmbeddings(MistralErrors, OpenAIEmbeddings):
    """Mistral's embeddings; only the host tells them from OpenAI's."""

    price_vendor = "mistral"

    def reply_body(self, model_request: ModelRequest, reply: Reply | None) -> dict[str, Any]:
        """OpenAI's body, with an id."""
        body = super().reply_body(model_request, reply)
        usage = {**body["usage"], "completion_tokens": 0}
        return {"id": model_request.digest[:32], **body, "usage": usage}
