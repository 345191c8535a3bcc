"""Other tools that users might choose, with as many trivial cases: offline, and live against the same stub of an API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tests.benchmarks import peers
from tests.benchmarks.comparison import ROOT, Comparison, Peer, with_plugin
from tests.benchmarks.project import Project

_BIN: Final = ROOT / ".venv-peers" / "bin"
_CASES: Final = 1_000
_LATENCY_SECONDS: Final = 0.2


@dataclass(frozen=True)
class _Tool:
    """How another tool is run.

    Args:
        name: of the tool.
        program: with its first arguments.
        write: writes cases, with `is_live` for live ones.
        expected_output: of a run in which all cases pass.
        environment: variables to add.
        concurrency: the words that set how many requests may be in flight; none for a tool that sends one by one.
        live: the words that a live run has besides.
    """

    name: str
    program: tuple[str, ...]
    write: Callable[..., None]
    expected_output: str
    environment: dict[str, str]
    concurrency: tuple[str, ...] = ()
    live: tuple[str, ...] = ()

    def offline(self) -> Comparison:
        """The row of offline cases."""
        baseline = Peer(
            self.program, expected_output=self.expected_output, environment=self.environment, write=self.write
        )
        name = f"compare {_CASES:,}, against {_CASES:,} by {self.name}"
        return Comparison(name, Project(_CASES), with_plugin(), baseline, budget=1.0)

    def lives(self) -> Iterator[Comparison]:
        """The rows of live cases, one for each number of requests in flight."""
        for number in (32, 64, 128) if self.concurrency else (128,):
            words = tuple(word.format(number) for word in self.concurrency)
            baseline = Peer(
                (*self.program, *self.live, *words),
                expected_output=self.expected_output,
                environment=self.environment,
                latency_seconds=_LATENCY_SECONDS,
                write=partial(self.write, is_live=True),
            )
            subject = with_plugin(
                "--chatprompt-live", f"--chatprompt-concurrency={number}", latency_seconds=_LATENCY_SECONDS
            )
            at = f"at N={number}" if self.concurrency else "one by one"
            yield Comparison(
                f"live {_CASES:,} of 200 ms at N={number}, against {self.name} {at}",
                Project(_CASES, goes_live=True),
                subject,
                baseline,
                # A run of this plugin is to be clearly the faster one.
                budget=0.8,
                of="wall",
                runs=3 if self.concurrency else 1,
            )


_TOOLS: Final = (
    _Tool(
        "pytest-agent-eval",
        (str(_BIN / "python"), "-m", "pytest", "-q", "-p", "pytest_agent_eval.plugin", "--agent-eval-live"),
        peers.write_pytest_agent_eval,
        "{items} passed",
        {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    ),
    _Tool(
        "inspect-ai",
        (str(_BIN / "inspect"), "eval", "task.py", "--display", "plain", "--no-log-realtime", "--ctl-server", "false"),
        peers.write_inspect_ai,
        "Samples: {items}/{items} ",
        {"INSPECT_LOG_DIR": "logs"},
        ("--max-connections", "{0}", "--max-samples", "{0}"),
        ("--model", "openai/gpt-5.5", "-M", "responses_api=false"),
    ),
    _Tool(
        "promptfoo",
        (
            str(Path(_BIN.parent, "node_modules", ".bin", "promptfoo")),
            *("eval", "--no-cache", "--no-write", "--no-table", "--no-progress-bar", "--no-share"),
        ),
        peers.write_promptfoo,
        "{items:,} passed",
        {
            "PROMPTFOO_CONFIG_DIR": "state",
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
        },
        ("--max-concurrency", "{0}"),
    ),
)

ROWS: Final = [*(tool.offline() for tool in _TOOLS), *(row for tool in _TOOLS for row in tool.lives())]
