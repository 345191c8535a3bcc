"""A run of several requests as a story: what is new in each, and the first step at which two runs part."""

from __future__ import annotations

import pytest

from tests.runs.conftest import Run

AGENT = """
import json
import httpx

def send(system, *messages):
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "Where is 7?"}, *messages]
    httpx.post("https://api.openai.com/v1/chat/completions", json={"model": "MODEL", "messages": messages})

def turns(number, city):
    call = {"name": "find", "arguments": json.dumps({"id": number})}
    calls = [{"id": f"call_{number}", "type": "function", "function": call}]
    yield {"role": "assistant", "content": None, "tool_calls": calls}
    yield {"role": "tool", "tool_call_id": f"call_{number}", "content": city}

def test_agent(eval_api, eval_snapshot):
    first, second = [*turns(7, "Berlin")], [*turns(8, "Rome")]
    send("Be kind.")
    send("Be kind.", *first)
    send("Be kind.", *first, *second)
    assert eval_api.sent == eval_snapshot
"""
STORY = """request 1 of 3: POST /v1/chat/completions

1. [System]: Be kind.
2. [User]: Where is 7?

request 2 of 3: POST /v1/chat/completions, after 2 turns of request 1

3. [Assistant]: <Call find({"id": 7})>
4. [Tool]: Berlin

request 3 of 3: POST /v1/chat/completions, after 4 turns of request 2

5. [Assistant]: <Call find({"id": 8})>
6. [Tool]: Rome

request 1 of 3: POST /v1/chat/completions

what fills it """


@pytest.fixture
def agent(run: Run) -> Run:
    """A project whose test sends three requests, each of which goes on from the one before."""
    run.write({"test_agent.py": AGENT, "pytest.ini": "[pytest]\n"})
    run.update()
    return run


def test_a_run_is_shown_request_by_request_with_what_is_new_in_each(agent: Run) -> None:
    assert STORY in "\n".join(agent("--chatprompt-show").outlines)


def test_a_request_goes_on_from_the_earlier_one_that_it_shares_most_with(agent: Run) -> None:
    # Two conversations in turn, as an agent and its helper have them.
    agent.write(
        {
            "test_agent.py": AGENT.replace(
                'send("Be kind.", *first)\n', 'send("Help.", *second)\n    send("Be kind.", *first)\n'
            )
        }
    )
    shown = agent("--chatprompt-show").outlines
    titles = [line.partition("completions")[2] for line in shown if line.startswith("request ")]
    assert titles[:4] == ["", "", ", after 2 turns of request 1", ", after 4 turns of request 3"]


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ('"Berlin"', '"Paris"', "The runs part at step 4, in request 2: [Tool]: Paris"),
        ("turns(8,", "turns(9,", 'The runs part at step 5, in request 3: [Assistant]: <Call find({"id": 9})>'),
        ("Be kind.", "Be\\n  brief.", "The runs part at step 1, in request 1: [System]: Be brief."),
        (
            '    send("Be kind.", *first, *second)\n',
            "",
            'The runs part at step 5, in request 3, which is no longer sent: [Assistant]: <Call find({"id": 8})>',
        ),
        (
            "    assert",
            '    send("Be kind.", *first, *second, {"role": "user", "content": "Thanks"})\n    assert',
            "The runs part at step 7, in request 4: [User]: Thanks",
        ),
    ],
)
def test_a_difference_names_the_first_step_at_which_two_runs_part(agent: Run, old: str, new: str, hint: str) -> None:
    agent.write({"test_agent.py": AGENT.replace(old, new)})
    result = agent()
    result.assert_outcomes(failed=1)
    assert [line for line in result.outlines if line.startswith("The runs part")] == [hint]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(AGENT.replace("MODEL", "OTHER"), id="the same story of another model"),
        pytest.param(AGENT.replace("eval_api.sent ==", "eval_api.sent[::-1] =="), id="the requests in another order"),
        pytest.param(
            AGENT.replace("eval_api.sent ==", "eval_api.sent[:1] ==").replace("kind", "brief"), id="one request"
        ),
    ],
)
def test_nothing_is_said_where_no_step_differs(agent: Run, changed: str) -> None:
    agent.write({"test_agent.py": changed.replace("[:1]", "")})
    if "[:1]" in changed:
        agent.write({"test_agent.py": AGENT.replace("eval_api.sent ==", "eval_api.sent[:1] ==")})
        agent.update()
        agent.write({"test_agent.py": changed})
    result = agent()
    result.assert_outcomes(failed=1)
    assert "The runs part" not in result.stdout.str()
