"""The judge of one eval item: what it will be asked, for the snapshot, and its votes on an answer."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.preview import can_preview, preview
from pytest_chatprompt.capture.recording.open_recording import OpenRecording
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.errors import CheckError, PayloadWarning
from pytest_chatprompt.grading.check import Check
from pytest_chatprompt.grading.judge import JudgePrompt, PromptFile, judge_questions
from pytest_chatprompt.live.answers import LiveResponse
from pytest_chatprompt.live.judging import Judging, judge_asks, preview_judging, votes_by_question
from pytest_chatprompt.live.sending import SentExchange
from pytest_chatprompt.options import options_key
from pytest_chatprompt.prompt.attachments import AttachmentError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.context import SendContext, use_context
from pytest_chatprompt.providers.response import Provider
from pytest_chatprompt.runs.item import EvalItem
from pytest_chatprompt.runs.live_plugin import find_live_run
from pytest_chatprompt.runs.recordings import replay_once
from pytest_chatprompt.runs.shared import shared_file_reader
from pytest_chatprompt.snapshots.recording_place import RecordingPlace

_JUDGE_FIXTURE: Final = "eval_judge"


def show_judging(
    request: pytest.FixtureRequest,
    case: EvalCase,
    checks: list[Check],
    provider_request: ProviderRequest,
    redactor: Redactor,
) -> Judging:
    """What the judge will be asked about the answers of an item. Nothing is sent.

    Args:
        request: the item's fixture request.
        case: the fixture `eval_case`.
        checks: of the case; at least one asks a judge.
        provider_request: the fixture `eval_request`.
        redactor: learns the key of the judge.

    Raises:
        CheckError: the template of the judge's prompt is not valid, or the judge cannot send it.
    """
    __tracebackhide__ = True
    questions = judge_questions(checks, case, provider_request.question, project_prompt(request.config))
    judge: Provider = request.getfixturevalue(_JUDGE_FIXTURE)
    is_live = request.config.stash[options_key].live
    # A stand-in of its own: the replies that a test has queued are for the case.
    show = partial(preview, judge, api=EvalAPI(redactor))
    live = find_live_run(request.config)
    if live is not None and not can_preview(judge):
        # It sends offline, in order to show what it sends.
        live.be_quiet()
    with use_context(SendContext(is_offline=not is_live)):
        judging = preview_judging(judge, questions, show)
    if isinstance(judge, ChatProvider):
        for key in judge.known_keys():
            redactor.add_key(key, f"the key of {judge.vendor}")
    item: EvalItem = request.node
    for finding in dict.fromkeys(finding for shown in judging.previews for finding in shown.response.findings):
        item.warn(PayloadWarning(f"the judge: {finding.text} [{finding.rule}, {finding.source}]", rule=finding.rule))
    return judging


def ask_judge(item: EvalItem, judging: Judging, live: LiveResponse, place: RecordingPlace) -> LiveResponse:
    """An answer with the votes of the judge; what the judge replied is recorded or replayed as the answer is.

    Args:
        item: the case's item.
        judging: what to ask.
        live: the answer, which may have its votes already.
        place: of the case's recording.

    Raises:
        RequestCancelledError: the run was stopped.
    """
    if live.judging is not None and judging.asks_the_same(live.judging):
        return live
    live_run = find_live_run(item.config)
    if live_run is not None:
        return live_run.judge(judging, live, place)

    def replay(judge: Provider, shown: Exchange, part: OpenRecording | None) -> SentExchange:
        return replay_once(place, judge, shown, part, EvalAPI())

    with use_context(SendContext(is_offline=True)):
        votes = [ask() for ask in judge_asks(judging, live.response, live.recording, replay)]
    return live._replace(judging=judging, votes=votes_by_question(judging, votes))


def project_prompt(config: pytest.Config) -> JudgePrompt | None:
    """The project's prompt of the judge; `None` if it has none.

    Raises:
        CheckError: there is no such file inside the root folder.
        EvalFileError: it is not a list of messages.
    """
    name = config.stash[options_key].judge_template
    if name is None:
        return None
    reader = shared_file_reader(config)
    try:
        prompt: JudgePrompt = reader.read_definition(name, config.rootpath, "template", PromptFile)
    except AttachmentError as error:
        raise CheckError(f"chatprompt_judge_template: {error}") from error
    return prompt
