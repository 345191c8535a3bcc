"""Tests of your own code in a run with `--chatprompt-ab REF`: each runs offline, to show what it sends.

When it is over, its first request is sent as it is and as the snapshot of the revision shows it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_chatprompt.apis.model_api import ChatAPI
from pytest_chatprompt.capture.captured_request import CapturedRequest
from pytest_chatprompt.capture.offline import PLACEHOLDER
from pytest_chatprompt.capture.offline_api import find_offline_api
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.cases.case import DEFAULT_AB_REPEAT
from pytest_chatprompt.live.answers import LiveCase, Version
from pytest_chatprompt.options import options_key
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.response import OFFLINE_TEXT, ProviderResponse
from pytest_chatprompt.runs.ab_run import VersionsGrading, restored, skip_left_out
from pytest_chatprompt.runs.item import notes_of
from pytest_chatprompt.runs.live_run import LiveRun
from pytest_chatprompt.runs.own_code import OwnCodeCapture
from pytest_chatprompt.runs.recordings import place_of_test
from pytest_chatprompt.snapshots.old_request import NotComparableError
from pytest_chatprompt.snapshots.stored import read_data, requests_in

_case_key = pytest.StashKey[LiveCase]()


class OwnCodeVersions:
    """The hooks that compare what tests of your own code send."""

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Find both versions of what a test has sent, if it passes; skip one that cannot be compared."""
        __tracebackhide__ = True
        capture = OwnCodeCapture.of(item)
        if capture is not None:
            item.stash[_case_key] = _find_versions(item, capture)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Send both, if the test has passed, when it can send nothing more."""
        __tracebackhide__ = True
        capture, case = OwnCodeCapture.of(item), item.stash.get(_case_key, None)
        if case is not None and capture is not None and capture.has_passed:
            answers, no_case = LiveRun.of(item.config).answers_to(case), cast(Any, None)
            request, redactor = case.compared.request, capture.api.redactor
            # The budget may be spent: the record says so.
            with suppress(pytest.skip.Exception):
                VersionsGrading(capture.request, no_case, request, None, answers, redactor).run()


def _find_versions(item: pytest.Item, capture: OwnCodeCapture) -> LiveCase:
    __tracebackhide__ = True
    options = item.config.stash[options_key]
    if options.ab_revision is None:
        skip_left_out(item, "what a test of your own code sends goes where it says itself")
    path, shown = notes_of(item).asserted or (Path(), "")
    first = next(iter(requests_in(read_data(shown)).values()), None)
    logged = [each for each in capture.api.log if capture.masks.apply(each.as_sent().as_data()) == first]
    if not logged:
        skip_left_out(item, "it does not compare all of a request that it sends with eval_snapshot")
    request, sent = logged[0].request, logged[0].as_sent()
    if not isinstance(find_offline_api(request), ChatAPI):
        skip_left_out(item, f"{sent.endpoint} is of no API whose answers can be read")
    if any(value.endswith(PLACEHOLDER) for value in request.headers.values()):
        skip_left_out(item, "a provider or another process sends it, with a placeholder for its key")
    provider = CapturedRequest(request, capture.api.redactor)
    response = ProviderResponse(text=OFFLINE_TEXT)
    present = Exchange(ProviderRequest(question=""), response, (sent,), in_place_of=sent)
    try:
        other = restored(item, path, provider, present, capture.masks, shown)
    except NotComparableError as error:
        skip_left_out(item, str(error))
    repeat = options.repeat or DEFAULT_AB_REPEAT
    place, batch = place_of_test(item, capture.masks), 2 * (options.least_repeat or repeat)
    return LiveCase((Version(provider, present), Version(provider, other)), place, repeat, batch=batch)
