"""What a chat provider makes of a request before it sends anything.

`Payload` is the body in the shape of an API; `PreparedRequest` has the URL and the bytes too. `ChatProvider` and its
subclasses make them, `capture` and `live` compare and send them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_chatprompt.providers.preflight.finding import Finding

if TYPE_CHECKING:
    from pytest_chatprompt.providers.prices import Billing


class Payload(NamedTuple):
    """A chat prompt in the shape of an API, or a part of a body, such as its tools.

    Args:
        body: the JSON body, before `extra_body` is merged into it.
        adjustments: what was changed in the messages to fit that shape; empty if nothing was.
    """

    body: dict[str, Any]
    adjustments: tuple[str, ...] = ()


class PreviewedBody(NamedTuple):
    """The body of an HTTP request, as its receiver decodes it.

    Args:
        url: the whole URL, base URL included.
        body: JSON data.
        adjustments: see `PreparedRequest`.
        findings: see `PreparedRequest`.
    """

    url: str
    body: Any
    adjustments: tuple[str, ...]
    findings: tuple[Finding, ...]


class PreparedRequest(NamedTuple):
    """An HTTP request that is ready to be sent.

    Args:
        url: the whole URL, base URL included.
        content: the body, as JSON in UTF-8.
        adjustments: what was changed in the messages to fit the API's shape; empty if nothing was.
        findings: what the API is known to refuse or to misread; empty if nothing is.
        target: what it is sent to, as error messages name it; `None` for the provider's own target.
        billing: who bills it; `None` where its provider does not say.
    """

    url: str
    content: bytes
    adjustments: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    target: str | None = None
    billing: Billing | None = None
