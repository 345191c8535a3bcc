"""The tools of MCP servers: `mcp_tools` in whole pytest runs, and `tools: shop` in eval files."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from types import ModuleType

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer

from tests.providers.agents.fake_agents import CHILDREN, START_CHILDREN, end_all_in, ends_soon, pids
from tests.raw_server import RawServer, http_reply, read_request
from tests.runs.conftest import HELLO, Run

pytestmark = pytest.mark.usefixtures("no_thread_left")

# A server of the SDK, with all that a server may show.
SHOP = '''
import sys
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

app = MCPServer("shop", instructions="Sells books.", version="1.2")

@app.tool(title="Search", annotations=ToolAnnotations(readOnlyHint=True), meta={"volatile": 1})
def search(query: str, limit: int = 10) -> str:
    """Search the catalogue."""
    return query

@app.tool(structured_output=False)
def buy(item: str) -> str:
    """Buy an item."""
    return item

@app.prompt()
def recommend(taste: str) -> str:
    """Recommend a book."""
    return taste

@app.resource("shop://books", name="books", description="All books.", mime_type="text/csv")
def books() -> str:
    return ""

@app.resource("shop://books/{id}", name="book")
def book(id: str) -> str:
    """One book."""
    return id

if __name__ == "__main__":
    app.run()
'''
SHOWN = """\
instructions: Sells books.
tools:
- name: buy
  description: Buy an item.
  inputSchema:
    type: object
    properties:
      item:
        title: Item
        type: string
    required:
    - item
    title: buyArguments
- name: search
  title: Search
  description: Search the catalogue.
  inputSchema:
    type: object
    properties:
      query:
        title: Query
        type: string
      limit:
        default: 10
        title: Limit
        type: integer
    required:
    - query
    title: searchArguments
  outputSchema:
    properties:
      result:
        title: Result
        type: string
    required:
    - result
    title: searchOutput
    type: object
  annotations:
    readOnlyHint: true
prompts:
- name: recommend
  description: Recommend a book.
  arguments:
  - name: taste
    required: true
resources:
- name: books
  uri: shop://books
  description: All books.
  mimeType: text/csv
resource_templates:
- name: book
  uriTemplate: shop://books/{id}
  description: One book.
  mimeType: text/plain
"""
CONFTEST = """
import sys
import pytest

@pytest.fixture(scope="session")
def shop_tools(mcp_tools):
    return mcp_tools({arguments})
"""
COMMAND = 'command=[sys.executable, "server.py"]'
LOCKED = "def test_it(shop_tools, eval_snapshot):\n    assert shop_tools == eval_snapshot\n"
# Speaks for itself, so that a test can let it do anything; a test's own code stands in front of the loop.
STAND_IN = """
import json, os, sys, time

CAPABILITIES = {"tools": {}}

def tool(name):
    return {"name": name, "inputSchema": {"type": "object"}}

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def answer(method, params):
    if method == "initialize":
        info = {"name": "stand-in", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [tool("a")]}

#

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        error = {"error": {"code": -32601, "message": "Method not found"}}
        say(id=message["id"], **(error if result is None else {"result": result}))
"""


@pytest.fixture
def no_thread_left() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "mcp_tools"] == []


@pytest.fixture
def shop(run: Run) -> Run:
    """A project with a server of the SDK and a fixture `shop_tools`."""
    run.write({"server.py": SHOP, "conftest.py": CONFTEST.format(arguments=COMMAND), "test_it.py": LOCKED})
    return run


def stand_in(run: Run, code: str, arguments: str = COMMAND) -> Run:
    """The project with a server that does what the code says, and an eval file that sends its tools."""
    run.write(
        {"server.py": STAND_IN.replace("\n#\n", f"\n{code}\n"), "conftest.py": CONFTEST.format(arguments=arguments)}
    )
    run.write({"a.eval.yaml": f"tools: shop{HELLO}"})
    return run


# --- what a server shows


def test_a_snapshot_shows_what_a_server_shows(shop: Run) -> None:
    arguments = {"command": COMMAND, "object": "__import__('server').app"}
    fixtures = [CONFTEST.replace("shop", name).format(arguments=value) for name, value in arguments.items()]
    tests = [LOCKED.replace("it(", f"{name}(").replace("shop", name) for name in arguments]
    shop.write({"pytest.ini": "[pytest]\npythonpath = .\nfilterwarnings = error\n"})
    shop.write({"conftest.py": "".join(fixtures), "test_it.py": "".join(tests)})
    shop.update().assert_outcomes(passed=2)
    for name in arguments:
        assert (shop.path / f"__snapshots__/test_it/test_{name}.yaml").read_text() == SHOWN


def test_all_pages_of_a_list_are_read_and_lists_that_a_server_lacks_are_left_out(run: Run) -> None:
    code = """
CAPABILITIES["resources"] = {}
others = answer

def answer(method, params):
    if method == "tools/list":
        page = int(params.get("cursor", "0"))
        return {"tools": [tool(f"t{9 - page}")], **({"nextCursor": str(page + 1)} if page < 2 else {})}
    if method == "resources/list":
        return {"resources": [{"name": "n", "uri": "b://"}, {"name": "n", "uri": "a://"}]}
    return others(method, params)
"""
    stand_in(run, code, 'command=[__import__("pathlib").Path(sys.executable), "server.py"]').write(
        {"test_it.py": LOCKED}
    )
    run.update("test_it.py")
    shown = run.snapshot("__snapshots__/test_it/test_it.yaml")
    assert [tool["name"] for tool in shown["tools"]] == ["t7", "t8", "t9"]
    assert shown["resources"] == [{"name": "n", "uri": "a://"}, {"name": "n", "uri": "b://"}]
    assert list(shown) == ["tools", "resources"]


def test_a_server_without_tools_shows_none(run: Run) -> None:
    stand_in(run, "CAPABILITIES.clear()").write({"test_it.py": LOCKED})
    run.update()
    assert "tools" not in run.snapshot("__snapshots__/a.eval/hello[openai].yaml")["request"]
    assert run.snapshot("__snapshots__/test_it/test_it.yaml") == {"tools": []}


BUYS = """
def tool(name):
    properties = {"item": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["item"]}
    return {"name": "buy", "description": "Buy an item.", "inputSchema": schema}
"""


def test_a_changed_description_is_one_distinct_change_wherever_it_is_sent(run: Run) -> None:
    stand_in(run, BUYS).write(
        {"test_it.py": LOCKED, "a.eval.yaml": f"provider: [openai, anthropic]\ntools: shop{HELLO}"}
    )
    run.update().assert_outcomes(passed=3)
    stand_in(run, BUYS.replace("Buy an item", "Buy one item"))
    run.write({"a.eval.yaml": f"provider: [openai, anthropic]\ntools: shop{HELLO}"})
    result = run()
    result.assert_outcomes(failed=3)
    (change,) = [line for line in result.outlines if line.startswith("change ")]
    assert "3 snapshots, 2 providers, 2 files" in change
    result = run("--chatprompt-accept", change.split()[1].removesuffix(":"))
    assert result.ret == 0
    assert "Buy one item." in str(run.snapshot("__snapshots__/test_it/test_it.yaml"))
    run().assert_outcomes(passed=3)


# --- eval files


def test_tools_of_a_fixture_are_translated_for_each_api_as_any_others(run: Run) -> None:
    stand_in(run, BUYS)
    run.write({"a.eval.yaml": f"provider: [openai, openai_responses, anthropic, gemini]\ntools: shop{HELLO}"})
    run.update("-W", "error").assert_outcomes(passed=4)

    def tool(provider: str) -> object:
        tools = run.snapshot(f"__snapshots__/a.eval/hello[{provider}].yaml")["request"]["tools"]
        return (tools[0]["functionDeclarations"] if provider == "gemini" else tools)[0]

    plain = {"name": "buy", "description": "Buy an item."}
    schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    assert tool("openai") == {"type": "function", "function": {**plain, "parameters": schema}}
    assert tool("openai_responses") == {"type": "function", **plain, "parameters": schema}
    assert tool("anthropic") == {**plain, "input_schema": schema}
    assert tool("gemini") == {**plain, "parametersJsonSchema": schema}


def test_the_limits_of_an_api_hold_for_them(run: Run) -> None:
    stand_in(run, 'def tool(name):\n    return {"name": "shop.buy item", "inputSchema": {"type": "object"}}')
    result = run("--snapshot-update", "-W", "default")
    result.stdout.fnmatch_lines(["*PayloadWarning: *'shop.buy item'*"])


def test_a_case_may_have_other_tools_than_its_file_and_a_test_a_case_in_code(run: Run) -> None:
    stand_in(run, "")
    run.write(
        {
            "a.eval.yaml": f"tools: shop{HELLO}  - id: none\n    tools: []\n    input_messages: [{{role: user, content: hi}}]\n",
            "conftest.py": 'import pytest\n\n@pytest.fixture\ndef shop_tools():\n    return [{"type": "function", "name": "own"}]\n',
            "test_code.py": """
import pytest
from pytest_chatprompt import EvalCase, EvalFileError, build_request

CASE = EvalCase(id="a", tools="shop", input_messages=[{"role": "user", "content": "hi"}])

@pytest.fixture
def eval_case():
    return CASE

def test_code(eval_request):
    assert eval_request.tools == ({"type": "function", "name": "own"},)

def test_without_pytest():
    with pytest.raises(EvalFileError, match="tools: the fixture shop_tools is known to eval items and to the fixture eval_request alone"):
        build_request(CASE)
""",
        }
    )
    run.update().assert_outcomes(passed=4)
    assert len(run.snapshot("__snapshots__/a.eval/hello[openai].yaml")["request"]["tools"]) == 1
    assert "tools" not in run.snapshot("__snapshots__/a.eval/none[openai].yaml")["request"]


@pytest.mark.parametrize(
    ("fixture", "problem"),
    [
        pytest.param(
            "def shpo_tools():\n    return []",
            "there is no fixture shop_tools; did you mean 'shpo'?",
            id="mistyped",
        ),
        pytest.param(
            "def other():\n    return []",
            "there is no fixture shop_tools; write one, or a list of tools, or the path of a .json, .yaml or .yml file",
            id="none",
        ),
        pytest.param(
            "def shop_tools():\n    return 5",
            "the fixture shop_tools gives no list of tools: must be a list of tools",
            id="no list",
        ),
        pytest.param(
            'def shop_tools():\n    return [{"name": "a", "input_schema": {}}]',
            "the fixture shop_tools gives no list of tools: [[]0]: tools have OpenAI's shape for every API; write 'parameters' for 'input_schema'",
            id="tools of another shape",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told_at_the_line_of_the_tools(run: Run, fixture: str, problem: str) -> None:
    run.write({"a.eval.yaml": f"provider: openai\ntools: shop{HELLO}"})
    run.write({"conftest.py": f"import pytest\n\n@pytest.fixture\n{fixture}\n"})
    result = run("--snapshot-update")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"a.eval.yaml:2:8: case 'hello': {problem}"])
    assert run.snapshots() == []


def test_a_fixture_that_asks_for_what_is_not_there_is_told_by_pytest(run: Run) -> None:
    run.write({"a.eval.yaml": f"tools: shop{HELLO}"})
    run.write({"conftest.py": "import pytest\n\n@pytest.fixture\ndef shop_tools(nothing):\n    return []\n"})
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E       fixture 'nothing' not found"])


# --- what goes wrong

NAME = f"the MCP server {sys.executable} server.py"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        pytest.param(
            "print('no database', file=sys.stderr)\nsys.exit(3)",
            [f"{NAME} exited with status 3; the end of its standard error:", "no database"],
            id="it does not start",
        ),
        pytest.param(
            "print('Welcome!', flush=True)\nprint('a log', file=sys.stderr, flush=True)",
            [
                f"{NAME}: it printed to its standard output what is no message: 'Welcome!'; let it print to standard error*",
            ],
            id="it prints to standard output",
        ),
        pytest.param(
            "os.write(1, b'\\x1b[31m\\xff' * 500 + b'\\n')",
            [f"{NAME}: it printed to its standard output what is no message: *'; let it print to standard error*"],
            id="garbage",
        ),
        pytest.param(
            "def answer(method, params):\n    if method == 'initialize':\n        os.kill(os.getpid(), 9)",
            [f"{NAME} was killed by SIGKILL"],
            id="it dies in the middle",
        ),
        pytest.param(
            "CAPABILITIES['prompts'] = {}\nothers = answer\n"
            "def answer(method, params):\n"
            "    return {'prompts': 5} if method == 'prompts/list' else others(method, params)",
            [f"{NAME}: its answer is not valid: prompts: Input should be a valid list"],
            id="its answer is no list",
        ),
        pytest.param(
            "left = ['b']\nothers = answer\n"
            "def answer(method, params):\n"
            "    if method != 'tools/list':\n"
            "        return others(method, params)\n"
            "    say(method='notifications/tools/list_changed')\n"
            "    return {'tools': [tool('a'), *map(tool, left and [left.pop()])]}",
            [f"{NAME}: its tools changed while they were read; let it register them before it answers"],
            id="its list changes",
        ),
        pytest.param(
            "others = answer\n"
            "def answer(method, params):\n"
            "    say(method='notifications/tools/list_changed')\n"
            "    return others(method, params)",
            None,
            id="it says so of a list that is the same",
        ),
        pytest.param(
            "CAPABILITIES['resources'] = {}\nothers = answer\n"
            "def answer(method, params):\n"
            "    if method == 'resources/templates/list':\n"
            "        say(id=message['id'], result={'resourceTemplates': []})\n"
            "        while True:\n"
            "            say(method='notifications/message', params={'level': 'info', 'data': 'idle'})\n"
            "    return {'resources': []} if method == 'resources/list' else others(method, params)",
            None,
            id="it says more once its lists are read",
        ),
        pytest.param(
            "others = answer\n"
            "def answer(method, params):\n"
            "    if method == 'tools/list':\n"
            "        say(id=message['id'], result={'tools': [tool('a')]})\n"
            "        os._exit(3)\n"
            "    return others(method, params)",
            None,
            id="it ends with its last reply",
        ),
        pytest.param(
            "others = answer\n"
            "def answer(method, params):\n"
            "    print()\n"
            "    print(' \\t\\r')\n"
            "    return others(method, params)",
            None,
            id="it prints blank lines",
        ),
    ],
)
def test_a_server_that_misbehaves_is_a_clear_error(run: Run, code: str, problem: list[str] | None) -> None:
    result = stand_in(run, code)("--snapshot-update")
    end_all_in(run.path)
    if problem is None:
        result.assert_outcomes(passed=1)
        return
    result.assert_outcomes(errors=1)
    first, *others = problem
    result.stdout.fnmatch_lines([f"a.eval.yaml:3:5: case 'hello': {first}", *others])
    assert run.snapshots() == []


@pytest.fixture
def short_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives what does not end a part of a second to end, in place of a whole one."""
    monkeypatch.setattr("pytest_chatprompt.capture.mcp_server._CLOSING_SECONDS", 0.3)


@pytest.mark.usefixtures("short_closing")
@pytest.mark.parametrize(
    ("code", "problem"),
    [
        pytest.param(
            "print('waiting', file=sys.stderr, flush=True)\ntime.sleep(600)",
            [f"{NAME} did not answer within 1 s; the end of its standard error:", "waiting"],
            id="it hangs",
        ),
        pytest.param(
            "os.close(1)\ntime.sleep(600)", [f"{NAME} closed its standard output"], id="it closes its standard output"
        ),
        pytest.param("os.close(0)\ntime.sleep(600)", [f"{NAME} did not answer within 1 s"], id="it does not read"),
    ],
)
def test_a_server_that_does_not_end_is_a_clear_error_within_a_bound(run: Run, code: str, problem: list[str]) -> None:
    result = stand_in(run, code, f"{COMMAND}, timeout_seconds=1")()
    end_all_in(run.path)
    result.assert_outcomes(errors=1)
    first, *others = problem
    result.stdout.fnmatch_lines([f"a.eval.yaml:3:5: case 'hello': {first}", *others])


def test_a_server_that_prints_a_line_without_end_is_given_up(run: Run) -> None:
    result = stand_in(run, "chunk = b'x' * 2**20\nwhile True:\n    os.write(1, chunk)")()
    end_all_in(run.path)
    problem = "it printed 67,108,864 bytes to its standard output without the end of a line"
    result.stdout.fnmatch_lines([f"a.eval.yaml:3:5: case 'hello': {NAME}: {problem}*"])


@pytest.mark.usefixtures("short_closing")
def test_an_error_of_the_server_is_told_in_its_words(run: Run) -> None:
    code = """
others = answer

def answer(method, params):
    if method != "tools/list":
        return others(method, params)
    say(id=message["id"], error={"code": -32000, "message": "no database"})
    time.sleep(600)
"""
    result = stand_in(run, code)()
    end_all_in(run.path)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"a.eval.yaml:3:5: case 'hello': {NAME}: no database"])


# fmt: off
WRONG = [
    ("", "TypeError: mcp_tools takes either a server object, or command=[[]...[]], or url='...'"),
    ("5, url='http://127.0.0.1'", "TypeError: mcp_tools takes either a server object, or command=[[]...[]], or url='...'"),
    ("command='server.py'", "TypeError: mcp_tools: command must be a list of the executable and its arguments"),
    ("command=[]", "TypeError: mcp_tools: command must be a list of the executable and its arguments"),
    ("command=5", "TypeError: mcp_tools: command must be a list of the executable and its arguments"),
    ("command=['shop', 5]", "TypeError: mcp_tools: command must be a list of the executable and its arguments"),
    ("url=5", "ValueError: mcp_tools: url must be a valid string, but is 5"),
    ("url=''", "ValueError: mcp_tools: url must have at least 1 character, but is ''"),
    ("command=['shop'], env={'A': 1}", "ValueError: mcp_tools: env['A'] must be a valid string, but is of type int"),
    ("command=['shop'], env='A=1'", "ValueError: mcp_tools: env must be a valid dictionary, but is of type str"),
    ("command=['shop'], cwd=5", "ValueError: mcp_tools: cwd must be a valid string, but is 5"),
    ("url='http://127.0.0.1', headers={'Authorization': b'x'}", "ValueError: mcp_tools: headers['Authorization'] must be a valid string, but is of type bytes"),
    ("5, timeout_seconds=0", "ValueError: mcp_tools: timeout_seconds must be greater than 0, but is 0"),
    ("5, timeout_seconds='5'", "ValueError: mcp_tools: timeout_seconds must be a valid number, but is '5'"),
    ("command=['no-such-server']", "executable 'no-such-server' not found on PATH; install it, or pass another command to mcp_tools"),
    ("command=[sys.executable], cwd='/no/folder'", "the working folder /no/folder does not exist"),
    ("5", "TypeError: mcp_tools takes either a server object, or command=[[]...[]], or url='...'"),
    # The SDK's client takes a text for a URL, and a transport for a server: no host of it would be looked at.
    ("'http://tools.invalid/mcp'", "TypeError: mcp_tools takes either a server object, or command=[[]...[]], or url='...'"),
    ("url='127.0.0.1:9/mcp'", "the MCP server at 127.0.0.1:9/mcp: a URL begins with http:// or https:// and a host"),
    ("url='localhost:9/mcp'", "the MCP server at localhost:9/mcp: a URL begins with http:// or https:// and a host"),
    ("url='ftp://127.0.0.1/mcp'", "the MCP server at ftp://127.0.0.1/mcp: a URL begins with http:// or https:// and a host"),
    ("url='//127.0.0.1/mcp'", "the MCP server at //127.0.0.1/mcp: a URL begins with http:// or https:// and a host"),
    ("url='http://[::1/mcp'", "the MCP server at http://[[]::1/mcp: a URL begins with http:// or https:// and a host"),
    ("url='http://me:word@127.0.0.1:9/mcp?key=x'", "the MCP server at http://127.0.0.1:9/mcp: All connection attempts failed"),
]
# fmt: on


def test_a_wrong_argument_says_what_to_write(run: Run) -> None:
    fixture = "@pytest.fixture\ndef tools_{0}(mcp_tools):\n    mcp_tools({1})\n"
    fixtures = [fixture.format(number, arguments) for number, (arguments, _) in enumerate(WRONG)]
    run.write({"conftest.py": "import sys, pytest\n" + "".join(fixtures)})
    run.write({"test_it.py": "".join(f"def test_{number}(tools_{number}): pass\n" for number in range(len(WRONG)))})
    result = run()
    result.assert_outcomes(errors=len(WRONG))
    told: list[str] = []
    for number, (_, problem) in enumerate(WRONG):
        told += [f"*{problem}".replace("['A", "[[]'A"), f"conftest.py:{3 * number + 4}: *Error"]
    result.stdout.fnmatch_lines(told)
    # Nothing but the user's own lines.
    assert "pytest_chatprompt/" not in result.stdout.str()


@pytest.mark.usefixtures("short_closing")
def test_a_server_object_that_blocks_is_given_up(shop: Run) -> None:
    shop.write({"pytest.ini": "[pytest]\npythonpath = .\n"})
    release = threading.Event()
    sys.modules["blocking_server"] = module = ModuleType("blocking_server")
    try:
        module.app = server = MCPServer("slow")  # type: ignore[attr-defined]

        async def block() -> list[object]:
            release.wait(60)
            return []

        server.list_tools = block  # type: ignore[assignment]
        shop.write({"conftest.py": CONFTEST.format(arguments="__import__('blocking_server').app, timeout_seconds=0.1")})
        result = shop()
    finally:
        release.set()
        del sys.modules["blocking_server"]
    result.stdout.fnmatch_lines(["*the MCP server slow did not answer within 0.1 s"])
    deadline = time.monotonic() + 30
    while any(thread.name == "mcp_tools" for thread in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.parametrize("module", [None, ModuleType("mcp")], ids=["not installed", "version 1"])
def test_without_the_sdk_the_error_names_the_extra(
    shop: Run, monkeypatch: pytest.MonkeyPatch, module: ModuleType | None
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", module)
    result = shop()
    result.assert_outcomes(errors=1)
    problem = "mcp_tools needs the package mcp, version 2 or newer: pip install 'pytest-chatprompt[[]mcp[]]'"
    result.stdout.fnmatch_lines([f"*{problem}"])


def test_an_import_of_the_sdk_that_fails_is_told_as_it_is(shop: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise ModuleNotFoundError("No module named 'http.server'; 'http' is not a package", name="http.server")

    module = ModuleType("mcp")
    module.__getattr__ = fail  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "mcp", module)
    shop().stdout.fnmatch_lines(["*ModuleNotFoundError: No module named 'http.server'; 'http' is not a package"])


# --- the environment and the end of a command


def test_a_command_gets_little_of_the_environment_and_what_env_says(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-0123456789")
    code = 'def tool(name):\n    return {"name": str(sorted({"OPENAI_API_KEY", "PATH", "MINE"} & {*os.environ})), "description": os.getcwd(), "inputSchema": {"type": "object"}}'
    stand_in(run, code, f"{COMMAND}, env={{'MINE': '1'}}").write({"test_it.py": LOCKED})
    run.update("test_it.py")
    (tool,) = run.snapshot("__snapshots__/test_it/test_it.yaml")["tools"]
    assert (tool["name"], tool["description"]) == ("['MINE', 'PATH']", str(run.path))


STARTS_CHILDREN = f"""
import subprocess
subprocess.Popen(["sh", "-c", {START_CHILDREN!r}]).wait()
open("pids", "a").write(f" {{os.getpid()}}")
"""


def test_a_server_and_what_it_started_end_as_soon_as_it_is_read(run: Run) -> None:
    stand_in(run, STARTS_CHILDREN)
    run.update("-W", "error").assert_outcomes(passed=1)
    try:
        *children, server = pids(run.path)
        # One of the children has an environment of its own: nothing tells that it belongs to the server.
        assert [ends_soon(pid, 10) for pid in (*children[: CHILDREN - 1], server)] == [True] * CHILDREN
    finally:
        end_all_in(run.path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_of_a_server_is_left_however_pytest_ends(run: Run, number: signal.Signals) -> None:
    stand_in(run, f"{STARTS_CHILDREN}\ntime.sleep(600)", f"{COMMAND}, timeout_seconds=300")
    process = run.start("--snapshot-update")
    try:
        deadline = time.monotonic() + 60
        path = run.path / "pids"
        while not path.exists() or len(path.read_text().split()) < CHILDREN + 2:
            assert time.monotonic() < deadline, run.output()
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(30)
        *children, server = pids(run.path)
        # One of the children has an environment of its own, as above.
        assert [ends_soon(pid, 30) for pid in (*children[: CHILDREN - 1], server)] == [True] * CHILDREN
    finally:
        process.kill()
        process.wait()
        end_all_in(run.path)


# --- over HTTP


@pytest.fixture
def http_shop() -> Iterator[str]:
    """The URL of a server of the SDK that speaks HTTP."""
    server = MCPServer("shop")

    @server.tool()
    def buy(item: str) -> str:
        """Buy an item."""
        return f"bought {item}"

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    runner = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error", ws="none"))
    thread = threading.Thread(target=runner.run, args=([listener],))
    thread.start()
    yield f"http://127.0.0.1:{port}/mcp"
    runner.should_exit = True
    thread.join()
    listener.close()


def test_a_url_on_this_machine_is_read_offline_and_through_no_proxy(
    shop: Run, http_shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    shop.write({"conftest.py": CONFTEST.format(arguments=f"url={http_shop!r}"), "a.eval.yaml": f"tools: shop{HELLO}"})
    shop.update("-W", "error").assert_outcomes(passed=2)
    (tool,) = shop.snapshot("__snapshots__/a.eval/hello[openai].yaml")["request"]["tools"]
    assert (tool["function"]["name"], tool["function"]["description"]) == ("buy", "Buy an item.")


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        ("401 Unauthorized", "it refuses access with status 401; pass headers to mcp_tools"),
        ("403 Forbidden", "it refuses access with status 403; pass headers to mcp_tools"),
        ("500 Internal Server Error", "Server returned an error response"),
    ],
    ids=lambda each: each[:3],
)
def test_a_refusal_is_told(run: Run, raw_server: RawServer, status: str, problem: str) -> None:
    def talk(connection: socket.socket, _: int) -> None:
        while read_request(connection):
            connection.sendall(http_reply(b"", status=status))

    raw_server.talk = talk
    run.write({"conftest.py": CONFTEST.format(arguments=f"url='{raw_server.url}/mcp'")})
    run.write({"a.eval.yaml": f"tools: shop{HELLO}"})
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"a.eval.yaml:*: case 'hello': the MCP server at {raw_server.url}/mcp: {problem}"])


@pytest.mark.parametrize(
    ("allowed", "option", "is_asked"),
    [
        pytest.param("", "--snapshot-update", False, id="not allowed"),
        pytest.param("tools.invalid", "--snapshot-update", True, id="allowed"),
        pytest.param("", "--chatprompt-live", True, id="live"),
    ],
)
def test_offline_a_url_is_on_this_machine_or_an_allowed_host(
    shop: Run, allowed: str, option: str, is_asked: bool
) -> None:
    shop.write(
        {"pytest.ini": f"[pytest]\nchatprompt_allowed_hosts = {allowed}\n", "a.eval.yaml": f"tools: shop{HELLO}"}
    )
    shop.write({"conftest.py": CONFTEST.format(arguments="url='http://tools.invalid/mcp', headers={'x': 'y'}")})
    result = shop(option)
    result.assert_outcomes(errors=2)
    # The name does not exist: the error is that of the look-up, and not ours.
    refusal = "the MCP server at tools.invalid is not asked: this is an offline run; the ini value chatprompt_allowed_hosts names hosts that may be reached"
    problem = "the MCP server at http://tools.invalid/mcp: *Name or service not known*" if is_asked else refusal
    result.stdout.fnmatch_lines([f"a.eval.yaml:*{problem}", f"E *{problem}"])


def test_the_requests_of_an_agent_to_an_mcp_server_are_no_calls_of_a_model(run: Run, http_shop: str) -> None:
    agent = """
import anyio, openai
from mcp import Client

async def agent(server):
    async with Client(server) as shop:
        tools = [
            {"type": "function", "function": {"name": tool.name, "parameters": tool.input_schema}}
            for tool in (await shop.list_tools()).tools
        ]
        messages = [{"role": "user", "content": "Buy a book."}]
        while True:
            client = openai.OpenAI()
            reply = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
            if not reply.tool_calls:
                return reply.content
            messages.append(reply.model_dump(exclude_none=True))
            for call in reply.tool_calls:
                result = await shop.call_tool(call.function.name, {"item": "a book"})
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result.content[0].text})
"""
    run.write({"pytest.ini": "[pytest]\npythonpath = .\n", "agent.py": agent})
    test = """
import anyio
from agent import agent

def test_it(eval_api, eval_snapshot):
    eval_api.reply(tool_calls=[{"name": "buy", "arguments": {"item": "a book"}, "id": "c1"}])
    eval_api.reply("Done.")
    assert anyio.run(agent, URL) == "Done."
    assert eval_api.sent == eval_snapshot
"""
    run.write({"test_it.py": test.replace("URL", repr(http_shop))})
    run.update().assert_outcomes(passed=1)
    first, second = run.snapshot("__snapshots__/test_it/test_it.yaml")["requests"]
    assert (first["endpoint"], second["endpoint"]) == ("POST /v1/chat/completions", "POST /v1/chat/completions")
    assert second["request"]["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "content": "bought a book"}
    # Elsewhere it needs an allowed host.
    run.write({"test_it.py": test.replace("URL", "'http://tools.invalid/mcp'")})
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*nothing answers POST http://tools.invalid/mcp offline; *"])
