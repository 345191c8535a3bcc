"""Sending: one request of a live run, in the calling thread, or its recorded reply."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.vendor_api import PreparedRequest
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.live_capture import FirstRequest, LiveCaptureRouter
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.providers.context import current_context, use_context
from pytest_chatprompt.providers.response import Provider, ProviderResponse
from pytest_chatprompt.snapshots.recording_place import RecordingPlace

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording


class SentExchange(NamedTuple):
    """What was sent, or replayed: then nothing was sent."""

    exchange: Exchange
    is_replayed: bool


def unsaved_recording(shown: Exchange) -> OpenRecording | None:
    """A recording that only counts what a provider of your own sends; `None` for a built-in provider."""
    if shown.prepared is not None:
        return None
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording  # noqa: PLC0415 - most prepare theirs

    # A first request that is sent alone is seen whatever API it is for: its answer is looked for.
    return OpenRecording(sends=True, is_kept=shown.in_place_of is not None)


def send_or_replay(  # noqa: PLR0913, PLR0917 - what a run has for one send
    place: RecordingPlace,
    router: LiveCaptureRouter | None,
    provider: Provider,
    shown: Exchange,
    recording: OpenRecording | None,
    api: EvalAPI | None = None,
) -> SentExchange:
    """Send a request, or replay its reply; `shown` is what its provider was shown to send.

    Without a `router` for what is sent, everything is replayed.
    """
    recorded = place.recorded_response(recording, shown)
    if recorded is not None:
        return SentExchange(shown._replace(response=recorded), True)
    if (router or recording) and isinstance(provider, ChatProvider) and shown.prepared is not None:
        exchange = shown._replace(response=_send_prepared(provider, shown.prepared, recording))
    elif router is None:
        exchange = _replay(place, provider, shown, recording, api or EvalAPI())
    else:
        from pytest_chatprompt.capture.provider_capture import capture_live  # noqa: PLC0415 - most prepare theirs

        first = None if shown.in_place_of is None else FirstRequest(shown.in_place_of, shown.sent[0])
        exchange = capture_live(
            provider, shown.request, router, shown.replies, api=api, recording=recording, first=first
        )
        if recording is not None and recording.is_kept and not recording.exchanges():
            recording.add_response(place.response_exchange(shown, exchange.response))
    is_replayed = recording is not None and bool(recording.replayed) and not recording.sent_count
    return SentExchange(exchange, is_replayed)


def _replay(
    place: RecordingPlace, provider: Provider, shown: Exchange, recording: OpenRecording | None, api: EvalAPI
) -> Exchange:
    """Let the provider read the recorded replies as it reads those of the API."""
    __tracebackhide__ = True
    if recording is None or shown.invocation is not None or not shown.sent:
        raise ReplayError(place.describe_missing_answer())
    api.reply_queue.waiting.extend(shown.replies)
    from pytest_chatprompt.capture.provider_capture import capture_replayed  # noqa: PLC0415

    return capture_replayed(provider, shown.request, api, recording)


def _send_prepared(
    provider: ChatProvider, prepared: PreparedRequest, recording: OpenRecording | None
) -> ProviderResponse:
    if recording is None:
        return provider.send_prepared(prepared)
    # Most runs neither replay nor record.
    from pytest_chatprompt.capture.recording.open_recording import replay_or_post, with_latency  # noqa: PLC0415

    with use_context(current_context()._replace(replay=partial(replay_or_post, recording))):
        return with_latency(provider.send_prepared(prepared), recording)
