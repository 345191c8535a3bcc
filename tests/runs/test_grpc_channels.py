"""grpc: what its channels would send through C is refused offline, in a test with `eval_api` and in an eval item."""

from __future__ import annotations

import pytest

from tests.runs.conftest import HELLO, Run

# Each way to call, sync and async, on a channel that is made in the test, or was made before.
CALLS = """
import asyncio
import grpc
import grpc.aio
from concurrent.futures import ThreadPoolExecutor

class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        kind = details.method.rpartition("/")[2]
        if kind == "unary_unary":
            return grpc.unary_unary_rpc_method_handler(lambda request, _: request)
        if kind == "unary_stream":
            return grpc.unary_stream_rpc_method_handler(lambda request, _: iter([request]))
        if kind == "stream_unary":
            return grpc.stream_unary_rpc_method_handler(lambda requests, _: b"".join(requests))
        return grpc.stream_stream_rpc_method_handler(lambda requests, _: requests)

def serve():
    server = grpc.server(ThreadPoolExecutor(2), [Echo()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port

def unary_unary(channel):
    return channel.unary_unary("/a/unary_unary")(b"x", timeout=5)

def with_call(channel):
    return channel.unary_unary("/a/unary_unary").with_call(b"x", timeout=5)[0]

def future(channel):
    return channel.unary_unary("/a/unary_unary").future(b"x", timeout=5).result()

def unary_stream(channel):
    return b"".join(channel.unary_stream("/a/unary_stream")(b"x", timeout=5))

def stream_unary(channel):
    return channel.stream_unary("/a/stream_unary")(iter([b"x"]), timeout=5)

def stream_stream(channel):
    return b"".join(channel.stream_stream("/a/stream_stream")(iter([b"x"]), timeout=5))

SYNC = [unary_unary, with_call, future, unary_stream, stream_unary, stream_stream]

async def joined(stream):
    return b"".join([each async for each in stream])

ASYNC = [
    lambda channel: channel.unary_unary("/a/unary_unary")(b"x", timeout=5),
    lambda channel: joined(channel.unary_stream("/a/unary_stream")(b"x", timeout=5)),
    lambda channel: channel.stream_unary("/a/stream_unary")(iter([b"x"]), timeout=5),
    lambda channel: joined(channel.stream_stream("/a/stream_stream")(iter([b"x"]), timeout=5)),
]
THREADLESS = [("SingleThreadedUnaryStream", 1)]
"""

TESTS = """
import asyncio
import sys
import pytest
import grpc.aio
import calls
from grpc import insecure_channel, secure_channel
from pytest_chatprompt.errors import BlockedConnectionError

BEFORE = insecure_channel("api.before.invalid:443")
SINGLE = insecure_channel("api.before.invalid:443", options=calls.THREADLESS)
MADE = BEFORE.unary_unary("/a/unary_unary")

def refused(host):
    return pytest.raises(BlockedConnectionError, match=f"no connection to {host}: this is an offline run, ")

@pytest.fixture
def server():
    server, port = calls.serve()
    yield port
    server.stop(None)

TARGETS = {
    "api.example.invalid:443": "api.example.invalid:443",
    "api.example.invalid": "api.example.invalid:443",
    "dns:///api.example.invalid:50": "api.example.invalid:50",
    "dns://192.0.2.9/api.example.invalid:50": "api.example.invalid:50",
    "ipv4:127.0.0.1:1,192.0.2.1:443": "192.0.2.1:443",
    "ipv6:[2001:db8::1]:50": "2001:db8::1:50",
    "[2001:db8::1]": "2001:db8::1:443",
    "2001:db8::1": "2001:db8::1:443",
    "xds:///api.example.invalid": "api.example.invalid:443",
}

@pytest.mark.parametrize("target", TARGETS)
def test_new(eval_api, target):
    with refused(TARGETS[target]):
        insecure_channel(target)
    with refused(TARGETS[target]):
        secure_channel(target, calls.grpc.ssl_channel_credentials())
    async def go():
        with refused(TARGETS[target]):
            grpc.aio.insecure_channel(target)
    asyncio.run(go())

@pytest.mark.parametrize("call", calls.SYNC)
def test_made_before(eval_api, call):
    with refused("api.before.invalid:443"):
        call(BEFORE)

def test_made_before_in_one_thread(eval_api):
    with refused("api.before.invalid:443"):
        calls.unary_stream(SINGLE)

def test_called_before(eval_api):
    with refused("api.before.invalid:443"):
        MADE(b"x")

@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()

@pytest.fixture
def async_channel(loop):
    async def make():
        return grpc.aio.insecure_channel("api.before.invalid:443")
    return loop.run_until_complete(make())

@pytest.mark.parametrize("call", calls.ASYNC)
def test_made_before_async(async_channel, loop, eval_api, call):
    async def go():
        with refused("api.before.invalid:443"):
            await call(async_channel)
        await async_channel.close()
    loop.run_until_complete(go())

def test_swallowed(eval_api):
    try:
        insecure_channel("api.example.invalid:443")
    except OSError:
        pass

@pytest.mark.parametrize("call", calls.SYNC)
def test_local(server, eval_api, call):
    with insecure_channel(f"localhost:{server}") as channel:
        assert call(channel) == b"x"

def test_local_async(server, eval_api):
    async def go():
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server}") as channel:
            assert [await call(channel) for call in calls.ASYNC] == [b"x"] * 4
    asyncio.run(go())

def test_unix(eval_api):
    insecure_channel("unix:/nowhere/socket").close()

def test_allowed(eval_api):
    insecure_channel("allowed.invalid:443").close()

def test_without_it_nothing_is_patched():
    insecure_channel("api.example.invalid:443").close()
    for function in (grpc._channel.Channel.__init__, grpc.aio.Channel.__init__, grpc._channel._UnaryUnaryMultiCallable.__call__):
        assert "chatprompt" not in str(getattr(function, "__globals__", ""))[:200]
"""

EVALS = """
import pytest
import calls

def send(request):
    calls.grpc.insecure_channel("api.example.invalid:443")
    return "x"

@pytest.fixture
def sending_provider():
    return send

@pytest.fixture
def early_provider():
    # It is imported here for the first time in this item.
    calls.grpc.secure_channel("api.fixture.invalid:443", calls.grpc.ssl_channel_credentials())
    return lambda request: "x"
"""


# grpc has threads of its own, which forked processes of other tests would lack.
@pytest.mark.measures_processes
def test_channels_are_refused_with_the_name_of_the_host(run: Run) -> None:
    run.write(
        {
            "pytest.ini": "[pytest]\npythonpath = .\nfilterwarnings = error\nchatprompt_allowed_hosts = allowed.invalid\n",
            "calls.py": CALLS,
            "test_it.py": TESTS,
        }
    )
    result = run.pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rf")
    # Each test in which a channel was refused fails, although it has caught the error.
    result.assert_outcomes(passed=10, failed=9 + 6 + 2 + 4 + 1)
    result.stdout.no_fnmatch_line("*DID NOT RAISE*")
    result.stdout.no_fnmatch_line("*AssertionError*")
    result.stdout.fnmatch_lines(
        [
            "a connection to api.example.invalid:443 was blocked*called at test_it.py:*: eval_api answers HTTP requests only; *"
        ]
    )


@pytest.mark.measures_processes
def test_an_eval_item_and_its_fixtures_make_no_channel_either(run: Run) -> None:
    run.write(
        {
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "calls.py": CALLS,
            "conftest.py": EVALS.replace("import calls\n", "").replace("calls.grpc", "__import__('calls').grpc"),
            "a.eval.yaml": f"provider: sending\n{HELLO}",
            "b.eval.yaml": f"provider: early\n{HELLO}",
        }
    )
    result = run.pytester.runpytest_subprocess("-p", "no:cacheprovider", "--snapshot-update")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines_random(
        ["*api.example.invalid:443*offline run*", "*api.fixture.invalid:443*offline run*"]
    )
    assert run.snapshots() == []


def test_other_runs_import_no_grpc(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": "import sys\ndef pytest_sessionfinish():\n    assert 'grpc' not in sys.modules\n",
        }
    )
    assert run.pytester.runpytest_subprocess("-p", "no:cacheprovider", "--snapshot-update").ret == 0
