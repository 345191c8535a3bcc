"""The recording of a test: where it is, and what is done with it in this run.

Most live runs neither replay nor record: what reads and writes recordings is imported where it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.snapshots.files import RECORDING_SUFFIX, UnwritableFileError
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.shown_data import payload_data
from pytest_chatprompt.wording import shown_path

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording
    from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange


class RecordingMode(NamedTuple):
    """What a run does with recordings, and whether requests reach the real APIs."""

    replays: bool
    sends: bool
    records: bool


@dataclass(frozen=True, slots=True)
class RecordingPlace:
    """Where the recording of a test is, and what is done with it.

    Args:
        masks: mask what is hashed.
        command: gives what to type to run the test alone; for errors.
        repeat: which answer of a repeated case is replayed and recorded, from 1.
        loaded: the content of the file, if it was read already.
    """

    folder: Path
    stem: str
    root: Path
    mode: RecordingMode
    masks: Masks
    command: Callable[[], str]
    repeat: int = 1
    loaded: tuple[RecordedExchange, ...] | None = None

    @property
    def path(self) -> Path:
        """The file of the recording; need not exist."""
        return self.folder / f"{self.stem}{RECORDING_SUFFIX}"

    def of_repeat(self, number: int, loaded: tuple[RecordedExchange, ...]) -> RecordingPlace:
        """The place of one answer of a repeated case, which is in the same file."""
        return replace(self, repeat=number, loaded=loaded)

    def load(self) -> tuple[RecordedExchange, ...]:
        """Read the recorded exchanges, of all answers of a repeated case; empty without a file."""
        if self.loaded is not None:
            return self.loaded
        from pytest_chatprompt.snapshots.recording_files import load_recording  # noqa: PLC0415

        return load_recording(self.path, self.root, f"{self.command()} --chatprompt-live --chatprompt-record")

    def open(self, base_url: Any = None) -> OpenRecording | None:
        """Open the recording for the test; `None` if the run neither replays nor records.

        Raises:
            ReplayError: the run needs what the file holds, and it cannot be read, or it holds the conflict of a merge.
        """
        if not (self.mode.replays or self.mode.records):
            return None
        from pytest_chatprompt.capture.recording.open_recording import OpenRecording  # noqa: PLC0415
        from pytest_chatprompt.snapshots.unused import holds_conflict  # noqa: PLC0415

        if holds_conflict(self.path):
            # This raises an error, before anything is sent that could not be recorded.
            replace(self, loaded=None).load()
        loaded = self.load() if self.mode.replays else ()
        recorded = tuple(exchange for exchange in loaded if exchange.repeat == self.repeat)
        return OpenRecording(
            recorded,
            sends=self.mode.sends,
            mask=self.masks.apply,
            base_url=base_url,
            describe_missing=lambda sent: self.describe_missing(sent, recorded),
            others=tuple(exchange for exchange in loaded if exchange.repeat != self.repeat),
        )

    def recorded_for(self, compared: Exchange) -> tuple[RecordedExchange, ...]:
        """What is recorded for what a case sends."""
        from pytest_chatprompt.capture.recording.recorded_exchange import recorded_request  # noqa: PLC0415

        hashes = {recorded_request(sent, self.masks.apply).sha256 for sent in compared.sent[:1]}
        hashes.add(self.exchange_sha256(compared))
        return tuple(exchange for exchange in self.load() if exchange.request.sha256 in hashes)

    def recorded_response(self, recording: OpenRecording | None, exchange: Exchange) -> ProviderResponse | None:
        """The recorded answer to all that was sent, of an agent or a plain function; `None` if there is none."""
        recorded = None if recording is None else recording.take_response(self.exchange_sha256(exchange))
        if recorded is None or recorded.response is None:
            return None
        return recorded.response.to_response(recorded.latency_seconds)

    def exchange_sha256(self, exchange: Exchange) -> str:
        """The hash of all that was sent, masked."""
        from pytest_chatprompt.capture.recording.recorded_exchange import data_sha256  # noqa: PLC0415

        return data_sha256(self.masks.apply(payload_data(exchange, self.root)))

    def sends_the_same(self, exchange: Exchange, compared: Exchange) -> bool:
        """Whether two exchanges have the same first request; later ones may hold the reply to it."""
        if exchange.sent is compared.sent and exchange.invocation is compared.invocation:
            # A provider that prepares its requests sends just these.
            return True
        first, expected = (
            json.dumps(self.masks.apply([sent.as_data() for sent in each.sent[:1]])) for each in (exchange, compared)
        )
        return first == expected and exchange.invocation == compared.invocation

    def response_exchange(self, exchange: Exchange, response: ProviderResponse) -> RecordedExchange:
        """The answer of an agent or a plain function, as a recording keeps it."""
        from pytest_chatprompt.capture.recording.recorded_exchange import (  # noqa: PLC0415
            RecordedExchange,
            RecordedRequest,
            RecordedResponse,
        )

        request = RecordedRequest(sha256=self.exchange_sha256(exchange))
        recorded = RecordedResponse(**{name: getattr(response, name) for name in RecordedResponse.model_fields})
        latency = None if response.latency_seconds is None else round(response.latency_seconds, 3)
        return RecordedExchange(request=request, response=recorded, latency_seconds=latency)

    def save(self, recording: OpenRecording, redactor: Redactor) -> None:
        """Write what was sent and answered, if anything was."""
        exchanges = recording.exchanges()
        if self.mode.records and len(exchanges) > len(recording.replayed):
            self.write((*exchanges, *recording.unused()), redactor)

    def write(self, exchanges: Sequence[RecordedExchange], redactor: Redactor) -> None:
        """Write the replies to some requests in place of those recorded for them; what else is recorded stays."""
        from pytest_chatprompt.snapshots.recording_files import save_recording  # noqa: PLC0415

        loaded: tuple[RecordedExchange, ...] = ()
        # What cannot be read is recorded anew, and so is the answer in a file of earlier versions.
        with suppress(ReplayError):
            loaded = self.load() if self.path.exists() else ()
        answered = {(exchange.repeat, exchange.request.sha256) for exchange in exchanges}
        others = [other for other in loaded if (other.repeat, other.request.sha256) not in answered]
        try:
            save_recording(self.path, sorted((*exchanges, *others), key=lambda exchange: exchange.repeat), redactor)
        except OSError as error:
            reason = error.strerror or error
            raise ReplayError(
                f"what was sent and replied is not recorded: {shown_path(self.path, self.root)} cannot be written: "
                f"{reason}; {UnwritableFileError.advice}"
            ) from None

    @property
    def advice(self) -> str:
        """What to type to record what is missing."""
        return f"To record it: {self.command()} --chatprompt-live --chatprompt-replay"

    def describe_missing_answer(self) -> str:
        """The error text for what an agent or a plain function was given, and no answer is recorded for."""
        path = shown_path(self.path, self.root)
        reason = "another answer is recorded there" if self.load() else "there is none"
        return f"no answer to what is sent now is recorded at {path}: {reason}\n\n{self.advice}"

    def describe_missing(self, sent: SentRequest, recorded: tuple[RecordedExchange, ...]) -> str:
        """The error text for a request that nothing is recorded for, with the diff to the nearest that is."""
        path = shown_path(self.path, self.root)
        if not recorded:
            return f"no reply is recorded for {sent.endpoint}: there is no {path}\n\n{self.advice}"
        from pytest_chatprompt.capture.recording.recorded_exchange import recorded_request  # noqa: PLC0415
        from pytest_chatprompt.snapshots.diff import compare_snapshots, diff_text  # noqa: PLC0415
        from pytest_chatprompt.snapshots.recording_files import nearest_request  # noqa: PLC0415

        missing = recorded_request(sent, self.masks.apply)
        nearest = nearest_request(missing, recorded)
        text = f"no reply is recorded for this request to {sent.endpoint}: {path} has none of its hash"
        if nearest is not None:
            changes = diff_text(compare_snapshots(dump(nearest.as_data()), dump(missing.as_data())))
            text += (
                f"\n\nThe nearest recorded request differs in:\n{changes}"
                if changes
                else "\n\nThis very request is recorded, and its replies were given already; it is sent once more now"
            )
        return f"{text}\n\n{self.advice}"
