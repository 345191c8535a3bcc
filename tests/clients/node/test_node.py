"""Scripts for Node, on the vendors' official packages: what they send comes to the server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import httpx
import pytest

from pytest_chatprompt.capture.guard import guard_network
from pytest_chatprompt.capture.server.capture_server import CaptureServer
from tests.clients.node.conftest import FOLDER, chat_reply

ASK = """
const OpenAI = require("openai");
(async () => {
  const client = new OpenAI();
  const request = {model: "m", messages: [{role: "user", content: "hi \\u00fc"}]};
  const reply = await client.chat.completions.create(request);
  console.log(reply.choices[0].message.content);
  let text = "";
  for await (const chunk of await client.chat.completions.create({...request, stream: true})) {
    text += chunk.choices[0].delta.content + "|";
  }
  console.log(text);
})();
"""


class Log:
    """A server, and the requests that came to it."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.server = CaptureServer(self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.url.path.endswith("/chat/completions"):
            return chat_reply(request)
        return httpx.Response(400, json={"error": {"message": "stop"}, "message": "stop"})

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script for Node, as an offline test would."""
        with guard_network():
            return subprocess.run(
                ["node", "-e", script],
                env={**os.environ, **self.server.environ},
                cwd=FOLDER,
                capture_output=True,
                text=True,
                check=False,
            )


@pytest.fixture
def log() -> Iterator[Log]:
    """A server for one test."""
    log = Log()
    yield log
    log.server.close()


def test_the_openai_package_gets_its_reply_streamed_or_not(log: Log) -> None:
    child = log.run(ASK)
    assert (child.stdout, child.stderr) == ("hello from here\nhello |from |here|\n", "")
    assert [str(request.url) for request in log.requests] == ["https://api.openai.com/v1/chat/completions"] * 2
    body = {"model": "m", "messages": [{"role": "user", "content": "hi ü"}]}
    assert [json.loads(request.content) for request in log.requests] == [body, {**body, "stream": True}]
    assert log.server.errors == []


@pytest.mark.parametrize(
    ("script", "url"),
    [
        pytest.param(
            """await new (require("@anthropic-ai/sdk"))().messages.create({model: "m", max_tokens: 5, messages: []})""",
            "https://api.anthropic.com/v1/messages",
            id="anthropic",
        ),
        pytest.param(
            """await new (require("@google/genai").GoogleGenAI)({apiKey: process.env.GEMINI_API_KEY})
            .models.generateContent({model: "m", contents: "hi"})""",
            "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
            id="google",
        ),
        pytest.param(
            """const aws = require("@aws-sdk/client-bedrock-runtime");
            const {NodeHttpHandler} = require("@smithy/node-http-handler");  // by default it speaks HTTP/2
            await new aws.BedrockRuntimeClient({requestHandler: new NodeHttpHandler()}).send(new aws.ConverseCommand({modelId: "a.b-v1:0", messages: []}))""",
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1%3A0/converse",
            id="bedrock",
        ),
        pytest.param(
            """await new (require("groq-sdk"))().chat.completions.create({model: "m", messages: []})""",
            "https://api.groq.com/openai/v1/chat/completions",
            id="groq",
        ),
        pytest.param(
            """const {AzureOpenAI} = require("openai");
            delete process.env.OPENAI_BASE_URL;  // which it takes first
            await new AzureOpenAI({apiVersion: "2024-10-21"}).chat.completions.create({model: "m", messages: []})""",
            "https://azure-openai.invalid/openai/deployments/m/chat/completions?api-version=2024-10-21",
            id="azure",
        ),
    ],
)
def test_the_package_of_each_vendor_is_led_to_the_server(log: Log, script: str, url: str) -> None:
    child = log.run(f"(async () => {{{script}}})().catch(error => console.log(error.message))")
    assert [str(request.url) for request in log.requests] == [url], child.stdout + child.stderr
