"""Model headers: those of a request that change what the model does, so that snapshots and recordings are for them too.

All others say who asks, by what client, or how the bytes are packed: they differ between machines, or are secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

# By name: the values that say nothing, because clients send one of them with every request.
_MODEL_HEADERS: Final[Mapping[bytes, tuple[str, ...]]] = {
    # Features of Anthropic's models, also on Amazon Bedrock and Vertex AI:
    # https://docs.anthropic.com/en/api/beta-headers; OpenRouter passes on those of the second name.
    b"anthropic-beta": (),
    b"x-anthropic-beta": (),
    # https://docs.anthropic.com/en/api/versioning; the values are those of `AnthropicProvider` and of the SDKs.
    b"anthropic-version": ("2023-06-01", "2026-10-21"),
    # openai-python, `resources/beta` and `lib/_assistants_runs.py`: the version of an API that is in beta.
    b"openai-beta": (),
    # The tools of Groq's systems: https://console.groq.com/docs/compound/systems
    b"groq-model-version": (),
    # What becomes of fields that Azure's API does not know: `ExtraParameters` of azure-ai-inference.
    b"extra-parameters": (),
    # The deployment, and so the model: online endpoints of Azure, and images made by its Responses API.
    b"azureml-model-deployment": (),
    b"x-ms-oai-image-generation-deployment": (),
    # `InvokeModelRequest` and `InvokeModelWithResponseStreamRequest` in botocore (`data/bedrock-runtime`); Converse has
    # the same in its body.
    b"x-amzn-bedrock-guardrailidentifier": (),
    b"x-amzn-bedrock-guardrailversion": (),
    b"x-amzn-bedrock-performanceconfig-latency": (),
    b"x-amzn-bedrock-service-tier": (),
    b"x-amzn-bedrock-trace": (),
    # The tier of service, which other APIs have in the body:
    # https://cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo
    b"x-vertex-ai-llm-request-type": (),
    b"x-vertex-ai-llm-shared-request-type": (),
}


def model_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers that change what the model does, sorted by their names in lower case.

    Args:
        headers: as sent; one that is sent several times counts as one, its values joined by commas.
    """
    found: dict[str, list[str]] = {}
    for name, value in headers:
        constants = _MODEL_HEADERS.get(name.lower())
        if constants is not None and (text := value.decode("latin-1")) not in constants:
            found.setdefault(name.decode("ascii").lower(), []).append(text)
    return {name: ", ".join(found[name]) for name in sorted(found)}
