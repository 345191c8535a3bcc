"""The judge's verdict: what its reply says, read strictly.

In: the `ProviderResponse` of a judge. Out: a `JudgeVote`. Several votes make one `Verdict`. Pure; `live.judging` reads
replies, `llm_rubric` counts votes.

What cannot be read is an error and never a pass. A verdict is the JSON object at the end of the reply: not one that the
reply quotes, from the answer for example, before it goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import Verdict
from pytest_chatprompt.providers.response import ProviderResponse

_MOST_SHOWN: Final = 200
_CLOSING_FENCE: Final = re.compile(r"\s*```\s*\Z")
# Why models stop in the middle, in the words of the APIs, in small letters.
_CUT_OFF: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
# Where an object may begin; models write no verdicts of more.
_MOST_BRACES: Final = 1000


@dataclass(frozen=True, slots=True)
class JudgeVote:
    """What a judge said about one answer, once.

    Args:
        passed: whether it accepts the answer; `None` if there is no verdict.
        reason: why, in its words.
        error: why there is no verdict; `""` if there is one.
        response: its reply, with usage and latency; `None` if there is none.
    """

    passed: bool | None
    reason: str = ""
    error: str = ""
    response: ProviderResponse | None = None
    is_replayed: bool = False


def read_vote(response: ProviderResponse, *, is_replayed: bool) -> JudgeVote:
    """Read the reply of a judge.

    Args:
        response: its reply.
        is_replayed: whether it was recorded earlier.

    Returns:
        Its vote; one with an error if the reply is no verdict.
    """
    try:
        passed, reason = _read(response)
    except _NoVerdictError as error:
        return JudgeVote(None, "", str(error), response, is_replayed)
    return JudgeVote(passed, reason, "", response, is_replayed)


class _NoVerdictError(Exception):
    """A reply is no verdict; the text says why."""


def _read(response: ProviderResponse) -> tuple[bool, str]:
    if response.blocked is not None:
        raise _NoVerdictError(f"the judge's API withheld the verdict: {response.blocked}")
    if not response.text.strip():
        raise _NoVerdictError(f"the judge's reply is empty{_reason_to_finish(response)}")
    if (response.finish_reason or "").lower() in _CUT_OFF:
        # What it ends with may be a part of it.
        raise _unreadable("it was cut off", response)
    verdict = _last_object(_CLOSING_FENCE.sub("", response.text).rstrip())
    if verdict is None:
        raise _unreadable("it does not end with a JSON object", response)
    passed, reason = verdict.get("pass"), verdict.get("reason")
    if not isinstance(passed, bool):
        raise _unreadable("'pass' is not true or false in it", response)
    if not isinstance(reason, str):
        raise _unreadable("'reason' is not a text in it", response)
    return passed, " ".join(reason.split())


def _last_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text ends with; `None` if it ends with none."""
    if not text.endswith("}"):
        return None
    # The first place from where all the rest is one object: an object within it is none of its own.
    for place in [match.start() for match in re.finditer(r"\{", text)][:_MOST_BRACES]:
        try:
            found: dict[str, Any] = json.loads(text[place:], object_pairs_hook=_without_repetition)
        except (ValueError, RecursionError):
            continue
        return found
    return None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        # As for all that is no JSON.
        raise ValueError
    return mapping


def _unreadable(why: str, response: ProviderResponse) -> _NoVerdictError:
    text = response.text
    shown = repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")
    return _NoVerdictError(f"the judge's reply is not a verdict: {why}{_reason_to_finish(response)}; it is {shown}")


def _reason_to_finish(response: ProviderResponse) -> str:
    return "" if response.finish_reason is None else f" (finish reason: {response.finish_reason})"


def count_votes(votes: Sequence[JudgeVote]) -> Verdict:
    """The verdict of the majority, with the reason that the first of it gave.

    Args:
        votes: of one judge about one answer.

    Raises:
        CheckError: one of them has no verdict, there are none, or as many are for as against.
    """
    if not votes:
        raise CheckError("no judge was asked")
    errors = list(dict.fromkeys(vote.error for vote in votes if vote.passed is None))
    if errors:
        raise CheckError("; ".join(errors))
    accepting = sum(bool(vote.passed) for vote in votes)
    if accepting * 2 == len(votes):
        raise CheckError("as many votes of the judge are for the answer as against it")
    passed = accepting * 2 > len(votes)
    reason = next(vote.reason for vote in votes if vote.passed is passed)
    count = f", by {accepting if passed else len(votes) - accepting} of {len(votes)} votes" if len(votes) > 1 else ""
    return Verdict(passed, f"is {'accepted' if passed else 'refused'} by the judge{count}: {reason}")
