"""The budget: what goes, what waits, what is refused, and what was spent."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_chatprompt.errors import BudgetError, RequestCancelledError
from pytest_chatprompt.live.budget import RunBudget
from pytest_chatprompt.providers.context import Cancellation, SendContext, Settle, use_context
from pytest_chatprompt.providers.prices import Billing, TokenPrice

PRICE = TokenPrice(input_usd=1, output_usd=1)
OPENAI = Billing("OpenAI", "m", price=PRICE)
OTHER = Billing("Other", "m", price=PRICE)


def reserve(budget: RunBudget, billing: Billing = OPENAI) -> Settle:
    return budget.reserve(billing, Cancellation())


def send(budget: RunBudget, cost: float, billing: Billing = OPENAI) -> None:
    reserve(budget, billing)(cost)


def test_requests_go_until_the_budget_is_spent() -> None:
    budget = RunBudget(0.10)
    for _ in range(5):
        send(budget, 0.02)
    assert budget.spent_usd == pytest.approx(0.10)
    with pytest.raises(BudgetError) as raised:
        reserve(budget)
    assert str(raised.value) == "the budget of $0.10 is spent: $0.10 so far"


def test_a_request_that_would_go_beyond_the_budget_is_not_sent() -> None:
    budget = RunBudget(0.05)
    send(budget, 0.02)
    send(budget, 0.02)
    with pytest.raises(BudgetError, match=r"spent: \$0.04 so far"):
        reserve(budget)


def test_the_first_request_goes_whatever_it_costs() -> None:
    budget = RunBudget(0.01)
    send(budget, 5)
    with pytest.raises(BudgetError, match=r"the budget of \$0.01 is spent: \$5.00 so far"):
        reserve(budget)
    # The first of another account too has nothing left.
    with pytest.raises(BudgetError):
        reserve(budget, OTHER)


def test_the_first_request_of_each_account_goes_as_long_as_anything_is_left() -> None:
    budget = RunBudget(1)
    send(budget, 0.99)
    with pytest.raises(BudgetError):
        reserve(budget)
    send(budget, 0.005, OTHER)
    assert budget.spent_usd == pytest.approx(0.995)


def test_a_first_request_in_flight_counts_as_much_as_the_dearest_known_one() -> None:
    budget = RunBudget(0.7)
    for _ in range(5):
        send(budget, 0.1)
    first = reserve(budget, OTHER)
    reserve(budget)(0.1)
    # 0.6 are spent, and what the other's first request costs is not known yet.
    assert is_waiting(budget, OPENAI)
    first(0.1)
    assert budget.spent_usd == pytest.approx(0.7)
    with pytest.raises(BudgetError, match=r"spent: \$0.70 so far"):
        reserve(budget)


def test_a_first_request_does_not_go_if_only_a_rounding_error_is_left() -> None:
    budget = RunBudget(1)
    for _ in range(10):
        send(budget, 0.1)
    # Ten times 0.1 is a little less than 1 in floats.
    assert budget.spent_usd < 1
    with pytest.raises(BudgetError, match=r"spent: \$1.00 so far"):
        reserve(budget, OTHER)


def test_those_in_flight_are_reserved_at_the_mean_of_their_account() -> None:
    budget = RunBudget(1)
    send(budget, 0.1)
    send(budget, 0.3)
    send(budget, 0.01, OTHER)
    # 0.41 are spent; each of these counts 0.2.
    in_flight = [reserve(budget), reserve(budget)]
    assert is_waiting(budget, OPENAI)
    reserve(budget, OTHER)(0.01)
    in_flight[0](None)
    reserve(budget)(0.2)
    in_flight[1](0.2)
    with pytest.raises(BudgetError):
        reserve(budget)


def test_the_second_request_waits_until_the_cost_of_the_first_is_known() -> None:
    budget = RunBudget(1)
    first = reserve(budget)
    assert is_waiting(budget, OPENAI)
    # Not that of another account.
    second = reserve(budget, OTHER)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(reserve, budget)
        first(0.1)
        waiting.result(timeout=60)(0.1)
    second(0.1)
    assert budget.spent_usd == pytest.approx(0.3)


def test_those_that_wait_go_in_the_order_of_the_run() -> None:
    budget = RunBudget(1)
    first = reserve(budget)
    sent: list[str] = []

    def job(name: str, order: int) -> None:
        with use_context(SendContext(order=order)):
            settle = reserve(budget)
        sent.append(name)
        time.sleep(0.01)
        settle(0.3)

    with ThreadPoolExecutor() as pool:
        waiting = []
        for name, order in (("a", 3), ("b", 5), ("c", 1), ("d", 3), ("e", 9)):
            waiting.append(pool.submit(job, name, order))
            until(lambda: len(budget._accounts[OPENAI].waiting) == len(waiting))
        first(0.3)
        errors = [type(future.exception(timeout=60)) for future in waiting]
    assert sent == ["c", "a"]
    assert errors == [type(None), BudgetError, type(None), BudgetError, BudgetError]


def test_whoever_waits_is_refused_once_the_budget_is_spent() -> None:
    budget = RunBudget(0.1)
    first = reserve(budget)
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(reserve, budget) for _ in range(3)]
        first(0.2)
        assert [type(future.exception(timeout=60)) for future in waiting] == [BudgetError] * 3


def test_a_request_that_failed_leaves_its_turn_to_the_next() -> None:
    budget = RunBudget(0.1)
    first = reserve(budget)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(reserve, budget)
        first(None)
        waiting.result(timeout=60)(0.05)
    assert budget.spent_usd == pytest.approx(0.05)


def test_a_reservation_ends_once() -> None:
    budget = RunBudget(1)
    settle = reserve(budget)
    settle(0.1)
    settle(0.5)
    settle(None)
    assert budget.spent_usd == pytest.approx(0.1)
    send(budget, 0.1)


def test_cancelling_ends_a_wait() -> None:
    budget = RunBudget(1)
    first = reserve(budget)
    cancellation = Cancellation()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(budget.reserve, OPENAI, cancellation)
        cancellation.cancel()
        assert isinstance(waiting.exception(timeout=60), RequestCancelledError)
    first(0)


def test_what_cannot_wait_goes_as_long_as_its_cost_is_left() -> None:
    budget = RunBudget(0.12)
    # Together, before the cost of any is known.
    streams = [budget.reserve(OPENAI), budget.reserve(OPENAI)]
    streams[0](0.04)
    streams.append(budget.reserve(OPENAI))
    with pytest.raises(BudgetError):
        budget.reserve(OPENAI)
    # Nobody is sure that a client ends its streams, so nobody waits for that.
    with pytest.raises(BudgetError):
        reserve(budget, OPENAI)


def test_a_free_model_goes_while_anything_is_left() -> None:
    budget = RunBudget(0.01)
    for _ in range(100):
        send(budget, 0)
    assert budget.spent_usd == 0


def test_many_threads_never_spend_more_than_the_budget() -> None:
    budget = RunBudget(1)

    def job(_: int) -> bool:
        try:
            settle = reserve(budget)
        except BudgetError:
            return False
        time.sleep(0.001)
        settle(0.01)
        return True

    with ThreadPoolExecutor(16) as pool:
        sent = sum(pool.map(job, range(300)))
    assert sent == 100
    assert budget.spent_usd == pytest.approx(1)


def test_a_price_that_is_not_known_is_an_error() -> None:
    budget = RunBudget(5)
    with pytest.raises(BudgetError) as raised:
        reserve(budget, Billing("Ollama", "own"))
    assert str(raised.value) == (
        "not sent, because the budget of $5.00 needs every price: the price of the model 'own' of Ollama is not known: the "
        "price list has none; pass price=TokenPrice(input_usd=..., output_usd=...) to its provider"
    )
    with pytest.raises(BudgetError, match="the price of this provider is not known"):
        budget.reserve(None, Cancellation())


def test_without_the_price_list_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(BudgetError, match=r"pip install 'pytest-chatprompt\[prices\]'"):
        reserve(RunBudget(5), Billing("OpenAI", "gpt-5.5", "openai"))


def is_waiting(budget: RunBudget, billing: Billing) -> bool:
    """Whether a request would have to wait now; it is cancelled."""
    cancellation = Cancellation()
    cancellation.cancel()
    try:
        budget.reserve(billing, cancellation)(None)
    except RequestCancelledError:
        return True
    return False


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
