"""What models answered to the requests of any client, read from the replies that a recording has seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, NamedTuple

import httpx

from pytest_chatprompt.apis.model_api import ChatAPI, ModelAPI
from pytest_chatprompt.apis.table import find_api, provider_of
from pytest_chatprompt.capture.offline_api import find_offline_api
from pytest_chatprompt.capture.recording.open_recording import OpenRecording, find_billing, with_latency
from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange, RecordedReply
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage, read_usage


class ModelAnswer(NamedTuple):
    """The answer to one request; without a response there was none, or an error in its place."""

    response: ProviderResponse | None
    is_replayed: bool


def model_answers(recording: OpenRecording) -> list[ModelAnswer]:
    """What became of each request to an API of a model, in the order of the requests."""
    answers = []
    for entry in recording.entries():
        request = entry.http_request
        api = None if request is None else find_offline_api(request)
        if request is not None and api is not None:
            response = None if entry.exchange is None else _read(api, request, entry.exchange)
            answers.append(ModelAnswer(response, entry.replayed is not None))
    return answers


def count_model_requests(sent: Iterable[SentRequest]) -> int:
    """How many of some requests are to an API of a model."""
    return sum(find_api(*each.endpoint.partition("?")[0].split(" ", 1)) is not None for each in sent)


def summed(amounts: Sequence[Any]) -> Any:
    """A sum; `None` if one of the amounts is not known."""
    # Rounded, since sums of floats have other last digits before Python 3.12.
    return None if None in amounts else round(sum(amounts), 12)


def with_usage(response: ProviderResponse, recording: OpenRecording, measured_seconds: float) -> ProviderResponse:
    """The response of a provider of one's own, with what its requests took and used where it does not say it itself."""
    answers = [each.response for each in model_answers(recording) if each.response]
    seconds = summed([answer.latency_seconds for answer in answers]) if answers else None
    # Requests that are sent at once take no longer than all of it.
    seconds = measured_seconds if seconds is None else min(seconds, measured_seconds)
    response = with_latency(response, recording, seconds)
    if not answers or response.usage != TokenUsage() or response.cost_usd is not None:
        return response
    tokens = {name: summed([getattr(answer.usage, name) for answer in answers]) for name in TokenUsage.model_fields}
    cost = summed([answer.cost_usd for answer in answers])
    return response.model_copy(update={"usage": TokenUsage(**tokens), "cost_usd": cost})


def _read(api: Any, request: httpx.Request, exchange: RecordedExchange) -> ProviderResponse | None:
    reply = exchange.reply
    if reply is None or reply.status >= HTTPStatus.BAD_REQUEST:
        return None
    body, response = None, ProviderResponse(text="", usage=read_usage(reply.content))
    # It may be cut off, or no such reply.
    with suppress(LookupError, TypeError, AttributeError, ValueError):
        body = _body(api, reply)
        provider = provider_of(api.name)
        response = (api if provider is None else provider()).read_reply(body)
    billing, usage = find_billing(request), response.usage
    if usage.input_tokens is not None and not isinstance(api, ChatAPI):
        # Embeddings have no output.
        usage = usage.model_copy(update={"output_tokens": usage.output_tokens or 0})
    cost = None if billing is None else billing.cost_usd(usage, body)
    update = {"usage": usage, "cost_usd": cost, "latency_seconds": exchange.latency_seconds, "raw": None}
    return response.model_copy(update=update)


def _body(api: ModelAPI, reply: RecordedReply) -> Any:
    """The body of a reply: as it is, or put together of the events of a stream, which Gemini may send as one list."""
    if isinstance(api, ChatAPI) and (reply.events or isinstance(reply.body, list)):
        return api.join_stream(list(_data(reply.events or reply.body)))
    return reply.body


def _data(events: Any) -> Iterator[Any]:
    """The JSON data of the events of a stream; of Amazon's each under the name of the event."""
    for event in events:
        if "headers" in event:
            yield {event["headers"][":event-type"]: event["data"]}
        elif isinstance(event.get("data", event), Mapping):
            yield event.get("data", event)
