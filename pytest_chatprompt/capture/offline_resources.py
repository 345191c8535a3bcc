"""What answers offline beside the models: their lists, counts of tokens, moderation, files and images.

Each reply is the least that the vendor's SDK reads; its fields are those of the types in the SDKs of November 2026:
openai 3.54, anthropic 2.12, google-genai 3.4, mistralai 3.7, cohere 7.3. Files that a test uploads are there until it
ends.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from email import message_from_bytes
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import httpx

from pytest_chatprompt.apis.conversation import as_mapping
from pytest_chatprompt.apis.model_api import CREATED, server_sent_event
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.capture.prompt_size import count_characters, estimate_tokens
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.providers.http.request_body import decode_body
from pytest_chatprompt.providers.response import OFFLINE_TEXT

_TIME: Final = "2025-01-01T00:00:00Z"
_MODEL: Final = "offline"
# A PNG of one pixel.
_IMAGE: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
# openai `types/moderation.py`, mistralai `models/moderationllmv1categorythresholds.py` and v2's.
_CATEGORIES: Final = (
    "harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
    "self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors", "violence", "violence/graphic",
    "hate_and_discrimination", "violence_and_threats", "dangerous_and_criminal_content", "dangerous", "criminal",
    "selfharm", "health", "financial", "law", "pii", "jailbreaking",
)  # fmt: skip
# Each vendor with a header of its SDK, which may ask a gateway or a server on this machine, and with the ends of the
# hosts that speak its API. The narrower header first.
_VENDORS: Final = (
    ("anthropic", "anthropic-version", "", (".anthropic.com",)),
    ("gemini", "x-goog-api-client", "", (".googleapis.com",)),
    ("gemini", "x-goog-upload-command", "", ()),
    ("cohere", "x-fern-sdk-name", "cohere", (".cohere.com",)),
    ("mistral", "user-agent", "mistral-client", (".mistral.ai",)),
    ("huggingface", "user-agent", "hf_hub/", (".huggingface.co",)),
    ("litellm", "host", "raw.githubusercontent.com", ()),
    ("openai", "x-stainless-lang", "", (
        ".openai.com", ".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com", ".groq.com",
        ".together.ai", ".cerebras.ai", ".fireworks.ai", ".deepseek.com", ".openrouter.ai", ".x.ai",
    )),
)  # fmt: skip


def _vendor(request: httpx.Request) -> str:
    """Whose API a request is for, by the SDK that sends it or by its host; `""` for nobody's of the table."""
    headers, host = request.headers, f".{request.url.host}"
    by_header = (vendor for vendor, name, value, _ in _VENDORS if name in headers and value in headers[name])
    by_host = (vendor for vendor, _, _, ends in _VENDORS if host.endswith(ends))
    return next(by_header, "") or next(by_host, "")


# What a model sees, so that it is locked; a question about it; or what an SDK asks and reports for itself, whenever it
# likes: nothing of that is recorded.
Kind = Literal["content", "look-up", "upkeep"]


class ResourceCall(NamedTuple):
    """A request to one of these endpoints, and how it is answered.

    `name` is that in its path: of a model, or of a file.
    """

    reply: Callable[[ResourceCall], httpx.Response]
    kind: Kind
    vendor: str
    request: httpx.Request
    name: str = ""

    def accepts(self, reply: Reply) -> bool:  # noqa: ARG002 - the APIs of models look at it
        """Whether a queued reply is for it: those are what models say."""
        return False

    def answer(self, request: httpx.Request, reply: Reply | None = None) -> httpx.Response:  # noqa: ARG002
        """Answer the request."""
        return self.reply(self)


class _File(NamedTuple):
    """A file that a test has uploaded, or a field of a form."""

    id: str
    name: str
    content: bytes
    purpose: str = "user_data"
    media_type: str = "application/octet-stream"

    @property
    def text(self) -> str:
        """The content, where it is the value of a field."""
        return self.content.decode(errors="replace")


class OfflineResources:
    """The endpoints beside those of the models, with the files that a test has uploaded."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        # What has come of an upload in pieces, by its id.
        self._uploads: dict[str, _File] = {}

    def find(self, request: httpx.Request) -> ResourceCall | None:
        """What answers a request; `None` if it is to no such endpoint of a known vendor."""
        vendor = _vendor(request)
        for method, path, reply, kind in _ENDPOINTS if vendor else ():
            found = re.search(path, request.url.path) if request.method == method else None
            if found is not None:
                return ResourceCall(partial(reply, self), kind, vendor, request, *found.groups())
        return None

    # --- models

    # --- counts of tokens, moderation, images

    def _count_tokens(self, call: ResourceCall) -> httpx.Response:
        tokens = max(1, estimate_tokens(count_characters(SentRequest.from_httpx(call.request))))
        # Of OpenAI and Anthropic, of Gemini.
        return _json({"object": "response.input_tokens", "input_tokens": tokens, "totalTokens": tokens})

    def _moderate(self, call: ResourceCall) -> httpx.Response:
        body = _body(call.request)
        given: Any = body.get("input")
        # Of a list each text, or each conversation, has a result; parts of one message have one together.
        is_several = isinstance(given, list) and not all(isinstance(each, Mapping) for each in given)
        result = {
            "flagged": False,
            "categories": dict.fromkeys(_CATEGORIES, False),
            "category_scores": dict.fromkeys(_CATEGORIES, 0.0),
            "category_applied_input_types": {name: [] for name in _CATEGORIES},
        }
        results = [result] * (len(given) if is_several else 1)
        return _json({"id": "modr-offline", "model": body.get("model") or _MODEL, "results": results})

    def _make_images(self, call: ResourceCall) -> httpx.Response:
        form = _form(call.request)
        body = _body(call.request) if form is None else {name: value.text for name, value in form.items()}
        tokens = dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), 0)
        usage = {**tokens, "input_tokens_details": {"image_tokens": 0, "text_tokens": 0}}
        made = {"usage": usage, "background": "opaque", "output_format": "png", "quality": "low", "size": "1024x1024"}
        if str(body.get("stream")).lower() == "true":
            kind = "image_edit.completed" if "edits" in call.request.url.path else "image_generation.completed"
            event = {"type": kind, "b64_json": _IMAGE, "created_at": CREATED, **made}
            content = server_sent_event(event, kind) + b"data: [DONE]\n\n"
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)
        is_link = body.get("response_format", "url" if "dall-e" in str(body.get("model")) else "") == "url"
        image = {"url": "https://images.offline.invalid/image.png"} if is_link else {"b64_json": _IMAGE}
        return _json({"created": CREATED, "data": [image] * int(body.get("n") or 1), **made})

    # --- files

    def _upload(self, call: ResourceCall) -> httpx.Response:
        form = _form(call.request) or {}
        sent = form.get("file", _File("", "file", b""))
        purpose = form["purpose"].text if "purpose" in form else sent.purpose
        return _json(_file(call.vendor, self._keep(sent._replace(purpose=purpose))))

    def _start_upload(self, call: ResourceCall) -> httpx.Response:
        """Take a file of Gemini in pieces (google-genai `_api_client.py`, `_upload_fd`)."""
        command = call.request.headers.get("x-goog-upload-command", "")
        number = call.request.url.params.get("upload_id", "")
        if "start" in command:
            about = _body(call.request).get("file", {})
            number = hashlib.sha256(call.request.content).hexdigest()[:16]
            # Google's SDK for Python writes the second form.
            name = about.get("displayName") or about.get("display_name") or "file"
            media_type = about.get("mimeType") or about.get("mime_type") or "application/octet-stream"
            own_id = str(about.get("name", "")).removeprefix("files/")
            self._uploads[number] = _File(own_id, name, b"", media_type=media_type)
            url = call.request.url.copy_merge_params({"upload_id": number})
            headers = {"x-goog-upload-url": str(url), "x-goog-upload-status": "active"}
            return httpx.Response(200, headers=headers, json={})
        started = self._uploads.get(number, _File("", "file", b""))
        self._uploads[number] = started._replace(content=started.content + call.request.content)
        if "finalize" not in command:
            return httpx.Response(200, headers={"x-goog-upload-status": "active"})
        kept = self._keep(self._uploads.pop(number))
        return httpx.Response(200, headers={"x-goog-upload-status": "final"}, json={"file": _file(call.vendor, kept)})

    def _list_files(self, call: ResourceCall) -> httpx.Response:
        return _list([_file(call.vendor, file) for file in self._files.values()])

    def _get_file(self, call: ResourceCall) -> httpx.Response:
        return _json(_file(call.vendor, self._find_file(call.name)))

    def _get_content(self, call: ResourceCall) -> httpx.Response:
        # Mistral's SDK takes no other type.
        headers = {"content-type": "application/octet-stream"}
        return httpx.Response(200, headers=headers, content=self._find_file(call.name).content)

    def _delete_file(self, call: ResourceCall) -> httpx.Response:
        self._files.pop(call.name, None)
        return _json({"id": call.name, "object": "file", "type": "file_deleted", "deleted": True})

    def _keep(self, file: _File) -> _File:
        """Keep a file, under an id that is the same for the same file."""
        digest = hashlib.sha256(file.name.encode(errors="surrogatepass") + b"\0" + file.content).hexdigest()
        kept = file._replace(id=file.id or f"file-{digest[:24]}")
        self._files[kept.id] = kept
        return kept

    def _find_file(self, number: str) -> _File:
        """The file of an id; one that the test has not uploaded is made up, since an application may know its id."""
        return self._files.get(number) or _File(number, "file.txt", OFFLINE_TEXT.encode(), media_type="text/plain")


# What stands before the names of these paths, in the APIs of all vendors.
_BASE: Final = r"(?:^|/v\d+\w*|/openai|/publishers/google)"
# Method and path, what replies, and the kind of the request.
_ENDPOINTS: Final[Sequence[tuple[str, str, Callable[..., httpx.Response], Kind]]] = (
    ("GET", rf"{_BASE}/models/?$", lambda _, call: _list([_model(call.vendor, _MODEL)]), "look-up"),
    ("GET", rf"{_BASE}/models/(.+?)/?$", lambda _, call: _json(_model(call.vendor, call.name)), "look-up"),
    ("POST", r"/messages/count_tokens/?$|/models/count-tokens:rawPredict$", OfflineResources._count_tokens, "content"),
    ("POST", r"/models/[^/]+:countTokens$|/responses/input_tokens/?$", OfflineResources._count_tokens, "content"),
    ("POST", r"/moderations/?$", OfflineResources._moderate, "content"),
    ("POST", r"/images/(?:generations|edits|variations)/?$", OfflineResources._make_images, "content"),
    ("POST", r"/upload/v\d+\w*/files$", OfflineResources._start_upload, "content"),
    ("POST", rf"{_BASE}/files/?$", OfflineResources._upload, "content"),
    ("GET", rf"{_BASE}/files/?$", OfflineResources._list_files, "look-up"),
    ("GET", rf"{_BASE}/files/([^/:]+)$", OfflineResources._get_file, "look-up"),
    ("GET", rf"{_BASE}/files/([^/:]+)(?:/content|:download)$", OfflineResources._get_content, "look-up"),
    ("DELETE", rf"{_BASE}/files/([^/:]+)$", OfflineResources._delete_file, "look-up"),
    # openai-agents 0.24 `tracing/processors.py`, huggingface_hub 2.4 `utils/_detect_agent.py`, litellm 1.110.
    ("POST", r"^/v1/traces/ingest$", lambda *_: _json({}), "upkeep"),
    ("GET", r"^/api/agent-harnesses$|/litellm/main/model_prices_\w+\.json$", lambda *_: httpx.Response(404), "upkeep"),
)


def _json(data: Any) -> httpx.Response:
    return httpx.Response(200, json=data)


# Where it can be, one reply has the fields of all vendors: each SDK reads its own.


def _list(items: list[dict[str, Any]]) -> httpx.Response:
    return _json({"object": "list", "data": items, "models": items, "files": items, "has_more": False})


def _model(vendor: str, name: str) -> dict[str, Any]:
    if vendor == "gemini":
        return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": ["generateContent"]}
    if vendor == "cohere":
        return {"name": name, "endpoints": ["chat"], "finetuned": False}
    if vendor == "anthropic":
        return {"type": "model", "id": name, "display_name": name, "created_at": _TIME, "lifecycle": "active"}
    own = {"type": "base", "capabilities": {"completion_chat": True}} if vendor == "mistral" else {}
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "offline", **own}


def _file(vendor: str, file: _File) -> dict[str, Any]:
    size = len(file.content)
    if vendor == "gemini":
        return {
            "name": f"files/{file.id}",
            "displayName": file.name,
            "mimeType": file.media_type,
            "sizeBytes": str(size),
            "uri": f"https://generativelanguage.googleapis.com/v1beta/files/{file.id}",
            "state": "ACTIVE",
        }
    of_anthropic = {"type": "file", "mime_type": file.media_type, "size_bytes": size}
    of_mistral = {"sample_type": "instruct", "source": "upload", "deleted": False}
    return {
        "id": file.id,
        "object": "file",
        "bytes": size,
        "created_at": CREATED,
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
        **of_anthropic,
        **of_mistral,
    }


def _body(request: httpx.Request) -> Mapping[str, Any]:
    return as_mapping(decode_body(request.content, request.headers))


def _form(request: httpx.Request) -> dict[str, _File] | None:
    """The fields of a form with files, by name; `None` for another body."""
    content_type = request.headers.get("content-type", "")
    if not content_type.startswith("multipart/form-data"):
        return None
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    parts: Any = message_from_bytes(head + request.content).get_payload()
    fields = {}
    for part in parts if isinstance(parts, list) else ():
        name = str(part.get_param("name", header="content-disposition"))
        content = part.get_payload(decode=True) or b""
        fields[name] = _File("", part.get_filename() or "file", content, media_type=part.get_content_type())
    return fields
