"""OpenAI's embeddings, as OpenAI, Azure, Mistral and others serve them.

Source: https://platform.openai.com/docs/api-reference/embeddings, and the package `openai` (`resources/embeddings.py`,
which asks for base64).
"""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from collections.abc import Sequence
from typing import Any

from pytest_chatprompt.apis.conversation import Conversation, ConversationTurn, as_items, as_mapping, as_text, json_text
from pytest_chatprompt.apis.openai import OpenAIErrors
from pytest_chatprompt.apis.reply import ModelRequest, Reply

# https://platform.openai.com/docs/guides/embeddings, https://docs.mistral.ai/capabilities/embeddings
_DIMENSIONS = {"text-embedding-3-large": 3072, "mistral-embed": 1024}
_MOST_DIMENSIONS = 10_000


class OpenAIEmbeddings(OpenAIErrors):
    """OpenAI's embeddings: for each text a vector of length 1, the same for the same text."""

    price_vendor = "openai"
    prompt_keys = ("model", "input")
    refusal = "embeddings are vectors: give eval_api.reply(json=[[0.1, ...], ...]), one for each text"

    def accepts(self, reply: Reply) -> bool:
        """Errors, and vectors as `json`: a text waits for a request that asks for one."""
        return reply.error is not None or _vectors(reply.json) is not None

    def reply_body(self, model_request: ModelRequest, reply: Reply | None) -> dict[str, Any]:
        """A list of embeddings, as numbers or in base64: the queued ones, else one for each text."""
        vectors = _vectors(reply.json) if reply is not None else None
        if vectors is None:
            # Mistral has the second name.
            wanted = model_request.body.get("dimensions", model_request.body.get("output_dimension"))
            is_possible = isinstance(wanted, int) and 0 < wanted <= _MOST_DIMENSIONS
            length = int(wanted) if is_possible else _DIMENSIONS.get(model_request.model, 1536)
            vectors = [_vector(text, length) for text in _texts(model_request.body.get("input"))]
        in_base64 = model_request.body.get("encoding_format") == "base64"
        tokens = ((reply.usage if reply is not None else None) or {}).get("input_tokens", 0)
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": _base64(vector) if in_base64 else list(vector)}
                for index, vector in enumerate(vectors)
            ],
            "model": model_request.replied_model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }

    def read_conversation(self, body: Any) -> Conversation:
        """Each text of `input` is a turn of the user."""
        texts = _texts(as_mapping(body).get("input"))
        return Conversation(tuple(ConversationTurn("user", (text,)) for text in texts))


def _texts(value: Any) -> list[str]:
    """The texts of `input`: a text, a list of texts, or the same in tokens."""
    items = as_items(value)
    if items and all(isinstance(item, int) for item in items):
        return [json_text(items)]
    return [as_text(item) for item in items]


def _vector(text: str, dimensions: int) -> list[float]:
    """A vector of length 1 that depends on the text alone."""
    digits = hashlib.shake_256(text.encode(errors="surrogatepass")).digest(2 * dimensions)
    numbers = [number + 0.5 for number in struct.unpack(f"<{dimensions}h", digits)]
    length = math.hypot(*numbers)
    return [round(number / length, 9) for number in numbers]


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


def _vectors(data: Any) -> list[Sequence[float]] | None:
    """The vectors that JSON data are, one or a list of them; `None` if they are something else."""
    vectors = data if isinstance(data, list) and data and isinstance(data[0], list) else [data]
    is_valid = all(
        isinstance(vector, list) and vector and all(isinstance(n, int | float) for n in vector) for vector in vectors
    )
    return vectors if is_valid else None
