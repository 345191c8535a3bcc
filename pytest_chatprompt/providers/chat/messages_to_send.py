"""Decides which messages of a request are sent: rule E2, which all chat providers share.

A `ProviderRequest` comes in; the chat prompt that the API gets comes out. Pure; `ChatProvider` calls it.
"""

from __future__ import annotations

from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import DEFAULT_SYSTEM_PROMPT, ChatMessage, ChatPrompt
from pytest_chatprompt.prompt.conversion import block_of_texts
from pytest_chatprompt.prompt.request import ProviderRequest


def messages_to_send(request: ProviderRequest) -> ChatPrompt:
    """Decide which messages of a request are sent; see `ChatProvider.build_chat_prompt`."""
    system_prompt = request.metadata.get("systemPrompt")
    if system_prompt is None:
        system_prompt = DEFAULT_SYSTEM_PROMPT
    if request.chat_prompt is None:
        return _legacy_prompt(request, system_prompt)
    if not request.chat_prompt:
        raise PayloadError(
            "the chat prompt is an empty list; add a message, or leave the list out to send the question"
        )
    if not system_prompt or any(message.role == "system" for message in request.chat_prompt):
        return request.chat_prompt
    return (ChatMessage("system", system_prompt), *request.chat_prompt)


def _legacy_prompt(request: ProviderRequest, system_prompt: str) -> ChatPrompt:
    if not request.question:
        raise PayloadError("the request has neither a chat prompt nor a question")
    block = block_of_texts(request.guidelines)
    system = "\n\n".join(text for text in (system_prompt, block) if text)
    user = ChatMessage("user", request.question)
    return (ChatMessage("system", system), user) if system else (user,)
