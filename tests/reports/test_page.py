"""The page: what stands in it, what its script reads, and that nothing of a run is markup."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.reports.compare import compare_runs
from pytest_chatprompt.reports.page import Decision, render_page
from pytest_chatprompt.reports.review import Review
from pytest_chatprompt.results.records import (
    CaseResult,
    ChangeCost,
    CheckResult,
    ErrorResult,
    ResponseResult,
    RunResults,
    SnapshotResult,
)
from pytest_chatprompt.snapshots.changes import data_sha256
from pytest_chatprompt.snapshots.diff import Comparison
from pytest_chatprompt.snapshots.layout import dump
from tests.reports.results import check, repeated


def request_data(text: str, system: str = "Be kind.") -> dict[str, Any]:
    body = {"model": "m", "system": system, "messages": [{"role": "user", "content": text}]}
    return {"provider": "anthropic", "endpoint": "POST /v1/messages", "question": text, "request": body}


def case_result(case: str, stored: Any, sent: Any, provider: str = "anthropic", **more: Any) -> CaseResult:
    common = {
        "node_id": f"a.eval.yaml::{case}[{provider}]",
        "path": "a.eval.yaml",
        "line": 1,
        "case_id": case,
        "provider": provider,
        "outcome": "passed" if stored == sent else "failed",
        **more,
    }
    if stored == sent:
        return CaseResult(**common, snapshot=SnapshotResult(path="s.yaml", state="same", sent=sent))
    comparison = Comparison(Path("s.yaml"), None if stored is None else dump(stored), dump(sent))
    snapshot = SnapshotResult(
        path="s.yaml",
        state="new" if stored is None else "different",
        difference=comparison.difference,
        stored_sha256=None if comparison.stored is None else data_sha256(comparison.stored),
        sent_sha256=data_sha256(comparison.sent),
        stored=stored,
        sent=sent,
    )
    return CaseResult(**common, snapshot=snapshot)


def page_of(*results: CaseResult, **more: Any) -> str:
    return render_page(RunResults(results=results, **more))


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def index_of(page: str) -> list[dict[str, Any]]:
    (text,) = re.findall('<script type="text/plain" id="index">(.*?)</script>', page)
    cases: list[dict[str, Any]] = unpacked(text)["cases"]
    return cases


def changes_of(page: str) -> list[dict[str, str]]:
    """The lines of the distinct changes."""
    (text,) = re.findall('<script type="text/plain" id="index">(.*?)</script>', page)
    changes: list[dict[str, str]] = unpacked(text)["changes"]
    return changes


def bodies_of(page: str) -> list[dict[str, Any]]:
    """What the page shows of all cases."""
    blocks = re.findall('<script type="text/plain" class="block">(.*?)</script>', page)
    return [body for block in blocks for body in unpacked(block)]


def text_of(page: str) -> str:
    """What the HTML of the page says, without its data, script and style."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


CHANGED = [
    case_result(case, request_data(case, "Within 14 days."), request_data(case, "Within 30 days."))
    for case in ("one", "two")
]


def test_equal_changes_are_told_once_with_their_places_and_counts() -> None:
    text = text_of(page_of(*CHANGED, command=("evals", "-q")))
    assert "1 distinct change in 2 snapshots" in text
    assert "request.system 2" in text
    assert len(changes_of(page_of(*CHANGED))) == 1


def test_what_a_change_costs_stands_with_it() -> None:
    (result,) = CHANGED[:1]
    assert result.snapshot is not None
    cost = ChangeCost(characters=8, tokens=2, prefix_break="request.system", prefix_characters=9)
    changes = [replace(each, characters=8 * each.place.startswith("request")) for each in result.difference.changes]
    difference = replace(result.difference, changes=tuple(changes))
    snapshot = result.snapshot.model_copy(update={"cost": cost, "difference": difference})
    costly = result.model_copy(update={"snapshot": snapshot})
    line = (
        "+8 characters (about +2 tokens); the first 9 characters are as before; vendors' caches end there, at request."
    )
    assert f"{line}system" in html.unescape(text_of(page_of(costly)))
    assert "characters" not in text_of(page_of(result))


def test_the_lines_of_a_change_are_data_of_the_page() -> None:
    moved = case_result(
        "m",
        {**request_data("q"), "request": {"messages": [{"role": "user", "content": text} for text in "abcd"]}},
        {**request_data("q"), "request": {"messages": [{"role": "user", "content": text} for text in "dabc"]}},
    )
    lines = case_result("l", request_data("q", "a"), request_data("q", "b\t\nc"))
    assert changes_of(page_of(*CHANGED, moved, lines)) == [
        {"id": "3b1f", "removed": "Within 14 days.", "added": "Within 30 days."},
        {"id": "fc66", "moved": "d"},
        {"id": "acf9", "removed": "a", "added": '"b\\t"\nc'},
    ]


def test_where_a_change_stands_is_folded_with_links_to_its_cases() -> None:
    page = page_of(*CHANGED)
    assert "in request.system : 2 cases" in text_of(page)
    assert '<details class="where">' in page
    assert page.count('<a href="#case=a.eval.yaml%3A%3Aone%5Banthropic%5D">') == 1


@pytest.mark.parametrize(
    ("command", "accepting"),
    [
        ((), "pytest --snapshot-update"),
        (("evals", "--chatprompt-live"), "pytest evals --snapshot-update"),
        (("--chatprompt-report", "r.html", "-k", "a b"), "pytest -k &#39;a b&#39; --snapshot-update"),
        (("--chatprompt-report=r.html", "--snapshot-update"), "pytest --snapshot-update"),
        (("--chatprompt-review", "evals", "--chatprompt-review=browser"), "pytest evals --snapshot-update"),
    ],
)
def test_one_command_accepts_all(command: tuple[str, ...], accepting: str) -> None:
    assert f"<bdi>{accepting}</bdi>" in page_of(*CHANGED, command=command)


def test_one_command_accepts_one_change() -> None:
    other = case_result("three", request_data("a"), request_data("b"))
    command = ("--chatprompt-provider", "openai", "evals", "--chatprompt-accept", "1234", "--chatprompt-accept=5678")
    page = page_of(*CHANGED, other, command=command)
    for change_id in ("3b1f", "eb15"):
        accepting = f"pytest --chatprompt-provider openai evals --chatprompt-accept {change_id}"
        assert f"<span>To accept it:</span> <code><bdi>{accepting}</bdi>" in page


def test_one_change_of_shards_is_accepted_in_the_tests_that_have_it() -> None:
    other = case_result("three", request_data("a"), request_data("b"))
    page = page_of(*CHANGED, other, command=("-o", "x=y"), shards=(("-k", "a"), ("-k", "b")))
    assert "<bdi>pytest &#39;a.eval.yaml::three[anthropic]&#39; -o x=y --chatprompt-accept eb15</bdi>" in page


def test_what_a_test_sends_for_real_is_accepted_so() -> None:
    test = case_result("t", request_data("a"), request_data("b"), case_id=None, provider="x")
    page = page_of(*CHANGED, test, command=("tests", "--chatprompt-live"))
    assert "<bdi>pytest tests --chatprompt-live --snapshot-update</bdi>" in page
    assert "<bdi>pytest tests --chatprompt-live --chatprompt-accept eb15</bdi>" in page
    assert {body.get("accept") for body in bodies_of(page)} >= {
        "pytest 'a.eval.yaml::t[x]' --chatprompt-live --snapshot-update"
    }


def test_a_command_names_tests_for_the_folder_where_pytest_was_started() -> None:
    changed = (*CHANGED, case_result("three", request_data("a"), request_data("b")))
    (*_, body) = bodies_of(page_of(*changed, folder="evals"))
    assert body["accept"] == "pytest '../a.eval.yaml::three[anthropic]' --snapshot-update"


def test_the_snapshots_of_a_revision_are_not_accepted() -> None:
    page = page_of(*CHANGED, case_result("three", request_data("a"), request_data("b")), against="main")
    assert "--snapshot-update" not in page
    assert not any("accept" in body for body in bodies_of(page))


def test_new_and_renamed_cases_are_listed() -> None:
    new = case_result("new", None, request_data("n"))
    renamed = new.model_copy(
        update={
            "node_id": "r",
            "snapshot": SnapshotResult(path="r.yaml", state="new", renamed_from="old", sent_sha256="1"),
        }
    )
    page = page_of(new, renamed)
    text = text_of(page)
    assert "2 new snapshots" in text
    assert "r , renamed from old" in text
    assert [entry.get("renamed") for entry in index_of(page)] == [None, "old"]


def test_many_changes_and_names_are_cut() -> None:
    changes = [case_result(f"c{n}", request_data("q", "a"), request_data("q", f"b{n}")) for n in range(101)]
    news = [case_result(f"n{n}", None, request_data(f"{n}")) for n in range(101)]
    text = text_of(page_of(*changes, *news))
    assert "and 1 more change: choose “changed” in the list of cases." in text
    assert "and 1 more: choose “new” in the list of cases" in text


def test_a_calm_run_says_so() -> None:
    text = text_of(page_of(case_result("a", request_data("q"), request_data("q"))))
    assert "Every snapshot shows what is sent" in text
    assert "Nothing: each request is what its snapshot shows." in text


def test_a_run_with_answers_is_headed_by_how_many_cases_passed() -> None:
    sent = request_data("q")
    answer = ResponseResult(text="Yes.", latency_seconds=1.0, input_tokens=1_200)
    passed = [case_result(f"c{n}", sent, sent, response=answer) for n in range(3)]
    skipped = case_result("s", sent, sent, outcome="skipped")
    text = text_of(page_of(*passed, CHANGED[0], skipped))
    assert "3 of 4 cases passed (75%)" in text
    assert "median latency 1.00 s input tokens 3,600" in text
    assert "What changed" in text
    assert "1 distinct change in 1 snapshot" in text
    # Where nothing changed, the answers come first.
    assert "What changed" not in text_of(page_of(*passed))
    assert "0 of 1 case passed (0%)" in text_of(page_of(CHANGED[0], is_live=True))
    assert "No tests of this plugin ran" in text_of(page_of(is_live=True))


def test_a_row_has_the_beginning_of_its_answer_and_what_it_took() -> None:
    sent = request_data("q")
    call = {"function": {"name": "find", "arguments": "{}"}}
    results = [
        case_result("t", sent, sent, response=ResponseResult(text="word " * 100, cost_usd=0.5, input_tokens=3)),
        case_result(
            "c", sent, sent, response=ResponseResult(text="", tool_calls=(call,)), checks=(check(), check(passed=False))
        ),
        repeated("r", "passed", "failed", "error"),
    ]
    rows = [(entry["answer"], entry.get("facts")) for entry in index_of(page_of(*results))]
    assert rows == [
        (f"{'word ' * 31}word…", "$0.50"),
        ("calls find({})", "1/2 checks"),
        ("answer 1", "1/2 answers, 1/2 checks, 1.00 s"),
    ]


def test_two_runs_beside_each_other_are_a_page() -> None:
    old, new = request_data("q", "Be kind."), request_data("q", "Be short.")
    before = [
        case_result("worse", old, old, response=ResponseResult(text="Yes, 14 days.")),
        case_result("same", old, old),
        case_result("gone", old, old),
        CaseResult(
            node_id="t.py::t", path="t.py", line=1, outcome="passed", requests=({"endpoint": "POST /x", "request": 1},)
        ),
    ]
    after = [
        case_result("skipped", old, old, outcome="skipped"),
        case_result("worse", new, new, outcome="failed", response=ResponseResult(text="Yes, 30 days.")),
        case_result("same", old, old),
        case_result("new", None, new),
        CaseResult(
            node_id="t.py::t", path="t.py", line=1, outcome="passed", requests=({"endpoint": "POST /x", "request": 2},)
        ),
    ]
    runs = RunResults(results=tuple(before)), RunResults(results=tuple(after), command=("evals",))
    page = render_page(runs[1], compare_runs(*runs, ("a.json", "b.json")))
    text = text_of(page)
    assert "1 worse, 0 better, 1 changed, 1 the same, 1 new, 1 gone" in text
    assert "a.json → b.json" in text
    assert "Worse (1) a.eval.yaml::worse[anthropic] : passed → failed; what is sent changed" in text
    assert "Gone (1) a.eval.yaml::gone[anthropic] : passed" in text
    assert "What is sent: 2 distinct changes" in text
    assert "1 case Show the case in request.system : 1 case" in text
    line = (
        "+1 character: system text; the first 3 characters are as before; vendors' caches end there, at request.system"
    )
    assert f"worse[anthropic] {line}" in html.unescape(text)
    assert "--snapshot-update" not in page
    entries = {entry["id"].partition("::")[2]: entry for entry in index_of(page)}
    assert [entry["kind"] for entry in entries.values()] == ["worse", "same", "new", "changed"]
    assert entries["worse[anthropic]"]["answers"] == ["Yes, 14 days.", "Yes, 30 days."]
    worse, same, *_ = bodies_of(page)
    assert worse["before"]["response"]["text"] == "Yes, 14 days."
    assert worse["before"]["outcome"] == "passed"
    assert ("Be kind." in worse["stored"]["payload"], "Be short." in worse["sent"]["payload"]) == (True, True)
    assert "stored" not in same
    assert changes_of(page) == [
        {"id": "ade0", "removed": "Be kind.", "added": "Be short."},
        {"id": "9bd4", "removed": "request: 1", "added": "request: 2"},
    ]


def test_a_run_without_tests_says_so() -> None:
    page = page_of()
    assert "No tests of this plugin ran" in text_of(page)
    assert index_of(page) == []


def test_a_test_that_failed_otherwise_is_listed_with_its_link() -> None:
    sent = request_data("q")
    failed = case_result("a", sent, sent, node_id="a b/\u00e9[\ud800]!", outcome="failed")
    error = CaseResult(node_id="e", path="e", line=1, outcome="error", error=ErrorResult(message="429: no <quota>"))
    page = page_of(failed, error, *(error.model_copy(update={"node_id": f"e{n}"}) for n in range(99)))
    assert '<a href="#case=a%20b%2F%C3%A9%5B%EF%BF%BD%5D!"><bdi>a b/é[\\uD800]!</bdi></a></li>' in page
    assert '<a href="#case=e"><bdi>e</bdi></a> <bdi>429: no &lt;quota&gt;</bdi></li>' in page
    assert "and 1 more: choose “failed” or “error” in the list of cases" in page


def test_the_answers_of_each_provider_are_added_up() -> None:
    sent = request_data("q")
    counts = [
        ("x", "passed", 1000, 1.0),
        ("x", "failed", 500, 2.0),
        ("x", "passed", None, None),
        ("y", "passed", None, None),
    ]
    results = [
        case_result(
            f"c{number}",
            sent,
            sent,
            provider,
            outcome=outcome,
            response=ResponseResult(
                text="", input_tokens=tokens, latency_seconds=latency, cost_usd=tokens and tokens / 1000
            ),
        )
        for number, (provider, outcome, tokens, latency) in enumerate(counts)
    ]
    text = text_of(page_of(*results, is_live=True))
    assert "x y cases 2/3 (67%) 1/1 (100%) median latency 1.50 s unknown" in text
    assert "input tokens 1,500 unknown output tokens unknown unknown cost $1.50 + 1 unknown unknown" in text


def test_what_the_checks_said_is_data_of_the_page() -> None:
    sent = request_data("q")
    checks = (
        CheckResult(
            type="contains", value="x", passed=False, reason="does not contain it", path="a.yaml", line=3, column=5
        ),
        CheckResult(type="regex", is_negated=True, of="request", value="y", passed=True, reason="has no match"),
        CheckResult(type="python", value="a:b", passed=None, reason="crashed with KeyError"),
    )
    page = page_of(case_result("c", sent, sent, outcome="failed", checks=checks))
    assert [list(check.values()) for check in bodies_of(page)[0]["checks"]] == [
        ["failed", "contains 'x'", "the answer does not contain it", "a.yaml:3:5"],
        ["passed", "not_regex 'y' of='request'", "the request has no match", ""],
        ["not graded", "python 'a:b'", "crashed with KeyError", ""],
    ]
    # A run without answers has no table.
    assert "contains" not in text_of(page)


def test_the_answers_of_a_repeated_case_are_data_of_the_page() -> None:
    repeats = bodies_of(page_of(repeated("x", "passed", "error")))[0]["repeats"]
    assert repeats["rate"] == "1/1 answers passed: 100 % (95 % interval 21 % to 100 %)"
    first, second = repeats["attempts"]
    assert (first["number"], first["outcome"], first["response"]["text"]) == (1, "passed", "answer 1")
    assert [check["text"] for check in first["checks"]] == ["contains 'x'"]
    assert (second["response"], second["problem"], second["checks"]) == (None, "503: overloaded", [])


def test_a_merged_run_tells_how_each_shard_was_started() -> None:
    text = text_of(page_of(*CHANGED, shards=(("evals/a", "-q"), ("evals/b",))))
    assert "pytest evals/a -q pytest evals/b" in text


def test_how_the_run_was_started_is_told() -> None:
    text = text_of(page_of(*CHANGED, command=("evals", "-m", "smoke"), is_live=True, against="origin/main"))
    assert "2 failed" in text
    assert "live: sent to the real APIs" in text
    assert "compared with the snapshots of origin/main" in text
    assert "pytest evals -m smoke" in text


def test_the_index_has_what_the_list_shows() -> None:
    assert index_of(page_of(CHANGED[0], case_result("q", None, request_data("n"), line=7))) == [
        {
            "id": "a.eval.yaml::one[anthropic]",
            "case": "one",
            "path": "a.eval.yaml",
            "line": 1,
            "provider": "anthropic",
            "outcome": "failed",
            "state": "different",
            "changes": [0],
            "block": 0,
            "at": 0,
        },
        {
            "id": "a.eval.yaml::q[anthropic]",
            "case": "q",
            "path": "a.eval.yaml",
            "line": 7,
            "provider": "anthropic",
            "outcome": "failed",
            "state": "new",
            "block": 0,
            "at": 1,
        },
    ]


def test_a_body_has_the_conversation_and_the_exact_payload_of_both_sides() -> None:
    (body,) = bodies_of(page_of(CHANGED[0]))
    assert body["stored"]["payload"] == dump(request_data("one", "Within 14 days."))
    assert body["sent"] == {
        "payload": dump(request_data("one", "Within 30 days.")),
        "requests": [
            {
                "endpoint": "POST /v1/messages",
                "settings": [["model", "m"]],
                "turns": [{"role": "system", "parts": ["Within 30 days."]}, {"role": "user", "parts": ["one"]}],
            }
        ],
    }
    assert body["accept"] == "pytest 'a.eval.yaml::one[anthropic]' --snapshot-update"


def test_a_body_has_the_answer_and_the_error() -> None:
    response = ResponseResult(text="Yes.", input_tokens=12, latency_seconds=0.5)
    error = ErrorResult(message="AssertionError: no", path="a.py", line=3)
    sent = request_data("q")
    result = case_result("a", sent, sent, response=response, error=error, findings=("f",), adjustments=("g",))
    (body,) = bodies_of(page_of(result))
    assert body["response"]["text"] == "Yes."
    assert body["response"]["latency_seconds"] == 0.5
    assert body["error"] == {"message": "AssertionError: no", "path": "a.py", "line": 3}
    assert (body["findings"], body["adjustments"]) == (["f"], ["g"])


def test_a_result_without_a_snapshot_has_no_payload() -> None:
    result = CaseResult(node_id="t.py::t", path="t.py", line=1, outcome="error")
    page = page_of(result)
    assert bodies_of(page) == [{}]
    assert index_of(page)[0] == {
        "id": "t.py::t",
        "path": "t.py",
        "line": 1,
        "outcome": "error",
        "block": 0,
        "at": 0,
    }


def test_the_requests_of_an_ordinary_test_are_its_payload() -> None:
    sent = {"endpoint": "POST /v1/messages", "request": request_data("hi")["request"]}
    result = CaseResult(node_id="t.py::t", path="t.py", line=1, outcome="passed", requests=(sent,))
    (body,) = bodies_of(page_of(result))
    assert body["sent"]["payload"] == dump({"requests": [sent]})
    assert [request["endpoint"] for request in body["sent"]["requests"]] == ["POST /v1/messages"]


@pytest.mark.parametrize(
    ("stored", "payload"),
    [("not: [yaml", "not: [yaml"), ([1, "é"], "- 1\n- é\n")],
)
def test_a_payload_of_any_shape_is_shown(stored: Any, payload: str) -> None:
    snapshot = SnapshotResult(path="s.yaml", state="same", sent=stored)
    result = CaseResult(node_id="a", path="a", line=1, outcome="passed", snapshot=snapshot)
    (body,) = bodies_of(page_of(result))
    assert body["sent"] == {"payload": payload, "requests": []}


def test_bodies_stand_in_blocks() -> None:
    sent = [request_data("x" * 300_000 + str(number)) for number in range(3)]
    page = page_of(*(case_result(f"c{n}", data, data) for n, data in enumerate(sent)))
    assert [(entry["block"], entry["at"]) for entry in index_of(page)] == [(0, 0), (1, 0), (2, 0)]
    assert [body["sent"]["payload"][-5:] for body in bodies_of(page)] == ["xxx0\n", "xxx1\n", "xxx2\n"]


def test_a_test_that_ran_twice_counts_as_it_ran_last() -> None:
    again = case_result("one", request_data("one"), request_data("one"))
    page = page_of(CHANGED[0], again)
    assert [entry["state"] for entry in index_of(page)] == ["same"]
    assert "distinct change" not in text_of(page).partition("Keys")[0]


def test_the_same_run_is_the_same_page() -> None:
    assert page_of(*CHANGED) == page_of(*CHANGED)


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- ]]>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_run_holds_is_text(text: str) -> None:
    result = case_result(text, request_data("q", text), request_data("q", f"{text} more"), provider=text)
    page = page_of(result, CHANGED[0], command=(text,), against=text)
    assert bodies_of(page)[0]["sent"]["requests"][0]["turns"][0]["parts"] == [f"{text} more"]
    calm = page_of(CHANGED[0])
    assert {link[0] for link in re.findall('href="(.*?)"', page)} == {"#"}
    for tag in ("<script", "</script", "<img", "onmouseover="):
        extra = page.count(tag) - calm.count(tag)
        assert extra == text.count(tag) * (page.count("onmouseover=&#34;") if tag == "onmouseover=" else 0)
    assert "49" not in text_of(page)


@pytest.mark.parametrize("character", ["\0", "\x1b", "\u202e", "\u2066", "\ud800", "\uffff"])
def test_what_no_page_can_hold_is_escaped(character: str) -> None:
    sent = request_data("q", f"a{character}b")
    results = [
        case_result(case, request_data("q", "a"), sent).model_copy(update={"node_id": f"{character}{case}"})
        for case in "xy"
    ]
    page = page_of(*results, case_result("z", None, request_data("n")), against=f"a{character}")
    assert character not in page
    page.encode()
    assert f"\\u{ord(character):04X}" in text_of(page)
    assert bodies_of(page)[0]["sent"]["requests"][0]["turns"][0]["parts"] == [f"a{character}b"]


def test_its_policy_allows_its_own_script_and_style_alone() -> None:
    page = page_of(*CHANGED)
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="(.*?)"', page)
    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert policy == (
        f"default-src &#39;none&#39;; script-src &#39;sha256-{hashes[0]}&#39;; style-src &#39;sha256-{hashes[1]}&#39;; "
        "base-uri &#39;none&#39;; form-action &#39;none&#39;"
    ).replace("&#39;", "'")


def test_nothing_leads_out() -> None:
    page = page_of(*CHANGED)
    assert {link[0] for link in re.findall(r'(?:href|src|action|srcset)="([^"]*)"', page)} == {"#"}
    assert not re.search(r"https?://|@import|url\(", page)


def test_its_script_makes_no_markup_of_text() -> None:
    folder = files("pytest_chatprompt.reports") / "page_files"
    scripts = {path.name: path.read_text() for path in folder.iterdir() if path.name.endswith(".js")}
    script = "".join(scripts.values())
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(", script)
    assert "</script" not in script
    # Only that of a review, which no report has.
    assert [name for name, text in scripts.items() if "fetch(" in text] == ["review.js"]


def test_a_review_may_ask_its_own_origin_and_has_no_commands() -> None:
    new = case_result("new", None, request_data("q"), node_id="a::<new>")
    run = RunResults(results=(*CHANGED, new), command=("evals",))
    report, review = render_page(run), render_page(run, review=Review([*CHANGED, new]), decisions={})
    assert "connect-src &#39;self&#39;; " not in report
    assert "connect-src 'self'; base-uri" in review
    assert "To accept all of it" in text_of(report)
    assert "To accept" not in text_of(review)
    assert re.search('class="(decide|take)"|id="left"|fetch', report) is None
    assert "new 1 snapshot a::&lt;new&gt; Accept a Skip s" in text_of(review)


def test_a_review_lists_all_and_shows_what_became_of_it() -> None:
    results = [case_result(f"c{n}", {"a": 0}, {"a": n}) for n in range(1, 103)]
    run, review = RunResults(results=tuple(results)), Review(results)
    assert "and 2 more changes" in text_of(render_page(run))
    first, second, *_ = (each.id for each in review.changes)
    decisions = {
        first: Decision("skipped", "skipped", []),
        second: Decision("failed", "1 not written", ["a<b>.yaml is not written: no \u202eleft"]),
    }
    page = render_page(run, review=review, decisions=decisions)
    assert len(re.findall('data-word="accept" aria', page)) == 100
    assert "more change" not in text_of(page)
    assert '<span class="badge skipped">skipped</span>' in page
    assert "1 not written a&lt;b&gt;.yaml is not written: no \\u202Eleft" in text_of(page)


def test_a_change_that_the_review_does_not_have_stays_one_of_its_case() -> None:
    expected = case_result("expected", {"a": 0}, {"a": 1}, outcome="skipped")
    run = RunResults(results=(*CHANGED, expected))
    page = render_page(run, review=Review(CHANGED), decisions={})
    assert len(changes_of(page)) == 1
    assert [case.get("changes") for case in index_of(page)] == [[0], [0], None]
    assert index_of(page)[2]["state"] == "different"
