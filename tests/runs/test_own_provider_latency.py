"""The latency of agents and of a project's own providers, which need not say it: measured live, replayed as it was."""

from __future__ import annotations

import json
import re

import pytest

from tests.runs.conftest import MakeLiveProject, Run
from tests.server import Reply, Server

GATEWAY = """
import httpx

@pytest.fixture(scope="session")
def openai_provider():
    def send(request):
        reply = httpx.post("URL/chat/completions", json={"messages": [{"content": request.question}]})
        return ProviderResponse(text=reply.json().get("answer", "(none)"), latency_seconds=LATENCY)

    return send
"""
FUNCTION = """
@pytest.fixture(scope="session")
def openai_provider():
    return lambda request: ProviderResponse(text="an answer", latency_seconds=LATENCY)
"""
PROVIDERS = pytest.mark.parametrize(
    "provider", [pytest.param(GATEWAY, id="sends a request"), pytest.param(FUNCTION, id="sends none")]
)


def latency(run: Run, *arguments: str) -> float | None:
    run(*arguments, "--chatprompt-report", "report.json").assert_outcomes(passed=1)
    (result,) = json.loads((run.path / "report.json").read_text(encoding="utf-8"))["results"]
    latency_seconds: float | None = result["response"].get("latency_seconds")
    return latency_seconds


@PROVIDERS
def test_it_is_measured_and_a_replayed_answer_has_that_of_its_recording(
    live_project: MakeLiveProject, server: Server, provider: str
) -> None:
    server.reply = Reply({"answer": "an answer"})
    run = live_project(1, conftest=provider.replace("URL", server.url).replace("LATENCY", "None"))
    live = latency(run, "--chatprompt-live", "--chatprompt-record")
    assert live is not None
    recording = run.path / "__snapshots__" / "a.eval" / "c0[openai].recording.yaml"
    text, count = re.subn(r"(?m)^  latency_seconds: .*", "  latency_seconds: 7.5", recording.read_text("utf-8"))
    assert count == 1
    recording.write_text(text, encoding="utf-8")
    assert latency(run, "--chatprompt-replay") == 7.5
    assert latency(run, "--chatprompt-live", "--chatprompt-replay") == 7.5


@PROVIDERS
def test_what_a_provider_says_counts(live_project: MakeLiveProject, server: Server, provider: str) -> None:
    server.reply = Reply({"answer": "an answer"})
    run = live_project(1, conftest=provider.replace("URL", server.url).replace("LATENCY", "4.25"))
    assert latency(run, "--chatprompt-live") == 4.25


def test_an_answer_that_nobody_waits_for_has_none(live_project: MakeLiveProject) -> None:
    run = live_project(1, conftest=FUNCTION.replace("latency_seconds=LATENCY", "is_awaited=False"))
    result = run("--chatprompt-live", "--chatprompt-report", "report.json")
    result.assert_outcomes(passed=1)
    assert "latency_seconds" not in (run.path / "report.json").read_text(encoding="utf-8")


def test_the_time_of_an_app_around_its_requests_does_not_count(live_project: MakeLiveProject, server: Server) -> None:
    app = GATEWAY.replace("import httpx", "import time\n\nimport httpx").replace(
        "        return", "        time.sleep(1 if 'answer' in reply.json() else 0)\n        return"
    )
    run = live_project(1, conftest=app.replace("URL", server.url).replace("LATENCY", "None"))
    server.reply = Reply({"answer": "not the offline one"}, delay_seconds=0.1)
    seconds = latency(run, "--chatprompt-live")
    assert seconds is not None
    assert 0.1 <= seconds < 1
