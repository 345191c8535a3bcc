"""The prior comparison: it holds for the very same request only, and until another secret is known."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pytest_chatprompt.snapshots.prior_comparison import PriorComparison

from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import AgentInvocation
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.serializer import lay_out

MASKS = Masks.from_mapping({"a": "b"})
EXCHANGE = Exchange(
    ProviderRequest(question="Hello."), ProviderResponse(text=""), (SentRequest("POST /chat", {"text": "Hello."}),)
)


def comparison(masks: Masks = MASKS, redactor: Redactor | None = None) -> PriorComparison:
    redactor = redactor or Redactor({})
    data = {"text": "Hello."}
    known = redactor.learn_environment()
    return PriorComparison(EXCHANGE, "openai", masks, data, lay_out(data), redactor, known)


def test_it_holds_for_a_request_that_was_built_again() -> None:
    again = EXCHANGE._replace(request=ProviderRequest(question="Hello."), response=ProviderResponse(text=""))
    assert comparison().shows(again, "openai", Masks.from_mapping({"a": "b"}))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"sent": (SentRequest("POST /chat", {"text": "Hello."}),)}, id="prepared anew"),
        pytest.param({"request": ProviderRequest(question="Hi.")}, id="another question"),
        pytest.param({"request": ProviderRequest(question="Hello.", adjustments=("cut",))}, id="adjustments"),
        pytest.param({"response": ProviderResponse(text="", adjustments=("cut",))}, id="adjustments of the API"),
        pytest.param({"invocation": AgentInvocation(("agent",), "Hello.", ())}, id="an agent"),
    ],
)
def test_it_does_not_hold_for_another_exchange(changed: dict[str, Any]) -> None:
    assert not comparison().shows(EXCHANGE._replace(**changed), "openai", MASKS)


def test_it_does_not_hold_for_another_name_of_the_provider() -> None:
    assert not comparison().shows(EXCHANGE, "azure", MASKS)


@pytest.mark.parametrize(
    "masks", [{}, {"a": "c"}, {"A": "b"}, {re.compile("a", re.IGNORECASE): "b"}, {"a": "b", "c": "d"}], ids=repr
)
def test_it_does_not_hold_for_other_masks(masks: Any) -> None:
    assert not comparison().shows(EXCHANGE, "openai", Masks.from_mapping(masks))


def test_it_does_not_hold_for_masks_that_may_give_something_else() -> None:
    masks = Masks.from_mapping({"a": lambda match: match[0]})
    assert not comparison(masks).shows(EXCHANGE, "openai", masks)


def test_the_redactor_that_has_searched_it_finds_nothing_until_it_learns_a_secret() -> None:
    environment: dict[str, str] = {}
    redactor = Redactor(environment)
    prior = comparison(redactor=redactor)
    assert prior.is_searched(redactor)
    environment["PLAIN"] = "word"
    assert prior.is_searched(redactor)
    environment["APP_API_KEY"] = "sk-live-0123456789abcdef"
    assert not prior.is_searched(redactor)


def test_another_redactor_has_searched_nothing() -> None:
    assert not comparison(redactor=Redactor({})).is_searched(Redactor({}))
