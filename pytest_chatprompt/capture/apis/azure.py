"""Azure OpenAI's chat completions by deployment: OpenAI's, except the path, the filter's results and the errors.

Source: https://learn.microsoft.com/azure/ai-foundry/openai/reference. `table` lists the API. Azure's v1 path is served
as OpenAI's.
"""

from __future__ import annotations

from typing import Any

from pytest_chatprompt.capture.apis.completion import Answer
from pytest_chatprompt.capture.apis.model_request import ModelRequest
from pytest_chatprompt.capture.apis.openai_chat import OpenAIChat

_CODES = {404: "DeploymentNotFound", 400: "BadRequest"}
_SEVERITIES = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}


class AzureChat(OpenAIChat):
    """Azure OpenAI's chat completions by deployment."""

    name = "azure-chat"
    path = r"/openai/deployments/[^/]+/chat/completions/?$"

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """OpenAI's body, with empty content filter results."""
        body = super().body(model_request, answer)
        for choice in body["choices"]:
            choice["content_filter_results"] = _SEVERITIES
        filtered = [{"prompt_index": 0, "content_filter_results": _SEVERITIES}]
        return {**body, "prompt_filter_results": filtered}

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the same for all
        """Azure's error: its code is the status, as text, or Azure's own word."""
        return {"error": {"code": _CODES.get(status, str(status)), "message": message}}
