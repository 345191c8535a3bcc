"""`ModelRequest`: the parts of a request that its offline reply depends on.

An httpx request comes in, whose body has been read. Its path, query and JSON body come out, and a digest that ids are
made of: the same request has the same one on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import httpx

from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.reading import as_mapping
from pytest_chatprompt.capture.body import decode_body, read_body


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model.

    Args:
        path: of the URL, decoded.
        query: its parameters, each by its first value.
        body: the JSON object; empty if the body is something else.
        digest: 40 hexadecimal digits of path and body.
    """

    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any]
    digest: str

    @classmethod
    def from_httpx(cls, request: httpx.Request) -> Self:
        """Read an httpx request, whose body has been read."""
        body = read_body(decode_body(request.content, request.headers))
        seed = f"{request.url.path}\n{json_text(body)}"
        digest = hashlib.sha256(seed.encode(errors="surrogatepass")).hexdigest()[:40]
        return cls(request.url.path, dict(request.url.params) if request.url.query else {}, as_mapping(body), digest)

    @property
    def model(self) -> str:
        """The model that the body names; `offline` if it names none."""
        model = self.body.get("model")
        return model if isinstance(model, str) and model else "offline"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers.

    Args:
        name: its name.
        parameters: the JSON Schema of its arguments; `None` for a tool that takes a text.
    """

    name: str
    parameters: Any = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a reply must be, to be valid for its request.

    Args:
        tools: all tools that the request offers.
        forced: those of which one must be called, in order; empty if none must.
        schema: the JSON Schema of the text; `None` for a text of any kind.
    """

    tools: Sequence[Tool] = ()
    forced: Sequence[Tool] = ()
    schema: Any = None


def force(tools: Sequence[Tool], names: Sequence[Any] | None = None) -> tuple[Tool, ...]:
    """Select the tools of which the model must call one.

    Args:
        tools: that the request offers.
        names: that the request forces, offered or not; `None` if the model may choose any tool.
    """
    if names is None:
        return tuple(tools)
    by_name = {tool.name: tool for tool in tools}
    return tuple(by_name.get(name) or Tool(name) for name in names if isinstance(name, str) and name)
