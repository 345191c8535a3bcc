"""The errors of this package, in one tree.

The text of each is the whole report: where, what, and what to do. The plugin shows that text without a traceback.

    ChatPromptError
    ├── EvalFileError             an eval file, a case, or a file that a case names is invalid
    ├── InvalidPatternError       a guideline pattern is not a usable glob
    ├── ProviderError             a provider cannot send a request, or got no response
    │   ├── UnknownProviderError  no fixture has the name that was asked for
    │   ├── PayloadError          the API cannot express the messages
    │   ├── MissingSettingError   a key, an endpoint or the command of `cli` is not set
    │   ├── BudgetError           the budget of the run is spent, or the price of a request is not known
    │   ├── APIConnectionError    the API did not reply: connection refused, timeout, ...
    │   │   └── RequestCancelledError  the run was stopped before the reply came
    │   ├── AgentError            an agent could not be started, failed, or gave no answer
    │   ├── APIStatusError        the API replied with an error
    │   │   ├── AuthenticationError    the key is wrong
    │   │   ├── PermissionDeniedError  the key is right, but not allowed to do this
    │   │   ├── NotFoundError          there is no such model, deployment or path
    │   │   ├── BadRequestError        the API rejects the request as it is
    │   │   ├── ContentFilterError     the API rejects the prompt because of its content
    │   │   ├── RateLimitError         too many requests or tokens in a short time
    │   │   ├── QuotaError             no quota or credit is left
    │   │   ├── InternalServerError    the API failed or is overloaded
    │   │   └── UnreadableReplyError   the reply is not one of this API
    │   ├── BlockedResponseError  the API replied with status 200, but withheld the answer
    │   └── EmptyResponseError    the API replied with status 200, but with an empty answer
    ├── CaptureError              what a provider sent could not be captured, or nothing answers it offline
    │   └── BlockedConnectionError     code tried to reach beyond this machine in an offline run
    ├── MCPServerError            an MCP server could not be started or reached, or does not keep to the protocol
    ├── ReplayError               nothing is recorded for a request, or the recording is unreadable
    ├── CheckFailedError          an answer, or what is sent, does not pass the checks of its case
    ├── CheckError                a check cannot be graded: it crashed, or what it looks at is missing
    ├── SnapshotError             what was sent differs from the snapshot, or there is no snapshot
    └── MaskError                 `eval_masks` gives something other than masks

There are also three warnings: `PayloadWarning`, a request that the API will reject, or read in another way,
`EvalFileWarning`, something in an eval file that is probably a mistake, and `CaptureWarning`, a thread that still runs
after the test that started it, and whose requests are no longer captured.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from pytest_chatprompt.wording import about_message, visible

# The keys and indexes that lead to a value.
Location = tuple[str | int, ...]


class _Shown:
    """What is shown by its text, which may hold what others wrote: no control characters, no commands to CI."""

    def __str__(self) -> str:
        return visible(super().__str__())


class ChatPromptError(_Shown, Exception):
    """Base of every error of this package."""


class Diagnostic(NamedTuple):
    """One problem of a file, and its position.

    Args:
        path: the file, relative to the root folder, with `/`; for a case made in code the node id of the test.
        line: 1-based; 0 for a case made in code.
        column: 1-based, in characters.
        text: what is wrong, and what to write instead.
        case_id: the id of the case that it belongs to; `None` for none.
    """

    path: str
    line: int
    column: int
    text: str
    case_id: str | None = None

    def __str__(self) -> str:
        case = "" if self.case_id is None else f"case {self.case_id!r}: "
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return f"{place}: {case}{self.text}" if place else f"{case}{self.text}"


class EvalFileError(ChatPromptError):
    """An eval file, one of its cases, or a file that a case names is invalid.

    Args:
        diagnostics: one for each problem, at least one.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))


class InvalidPatternError(ChatPromptError):
    """A guideline pattern is not a usable glob."""


class ProviderError(ChatPromptError):
    """A provider cannot send a request, or got no response.

    Attributes:
        retries: how many times the request was sent again.
    """

    retries: int = 0

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\nGiven up after {self.retries + 1} tries." if self.retries else text


class UnknownProviderError(ProviderError):
    """No fixture has the name of the provider that was asked for."""


class PayloadError(ProviderError):
    """The API cannot express the messages, a setting or a tool; nothing was sent.

    Args:
        reason: what does not fit, and what to change.
        message_number: 1-based number of the message among the case's `input_messages`; `None` if it is not about one.
        location: the keys and indexes that lead to one of the settings, a tool, a format or a part of a message, such
            as `"settings", "seed"`; empty if it is not about one.
    """

    def __init__(self, reason: str, *, message_number: int | None = None, location: Location = ()) -> None:
        self.reason = reason
        self.message_number = message_number
        self.location = location
        super().__init__(about_message(message_number, reason))


class CaptureWarning(_Shown, UserWarning):
    """A thread that has sent requests in a test goes on after it; what it sends from then on is refused."""


class MissingSettingError(ProviderError):
    """A key or an endpoint is set neither in the code nor in the environment, or the provider `cli` has no command."""


class BudgetError(ProviderError):
    """The budget of the run does not allow a request: it is spent, or the price is not known."""


class APIConnectionError(ProviderError):
    """The API did not reply, or not completely, or not in time."""


class RequestCancelledError(APIConnectionError):
    """The run was stopped before the API replied; this is not an error of the API."""

    def __init__(self) -> None:
        super().__init__("the run was stopped")


class AgentError(ProviderError):
    """An agent could not be started, failed, or gave no answer."""


class APIStatusError(ProviderError):
    """The API replied with an error.

    Args:
        text: the whole report.
        status: the HTTP status code.
        message: the API's own message, with the key removed; `""` if it sent none.
        code: the API's own word for the error, such as `insufficient_quota`; `None` if it sent none.
        request_id: the id of the request, which the vendor's support asks for; `None` if the API sent none.
        retry_after_seconds: how long the API asks to wait; `None` if it does not say.
    """

    def __init__(  # noqa: PLR0913 - each is a fact of its own
        self,
        text: str,
        *,
        status: int,
        message: str = "",
        code: str | None = None,
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        self.status = status
        self.message = message
        self.code = code
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds
        super().__init__(text)


class AuthenticationError(APIStatusError):
    """The key is wrong, expired or revoked."""


class PermissionDeniedError(APIStatusError):
    """The key is valid, but not for this project, region or model."""


class NotFoundError(APIStatusError):
    """There is no such model, deployment or path."""


class BadRequestError(APIStatusError):
    """The API rejects the request as it is."""


class ContentFilterError(APIStatusError):
    """The API rejects the prompt because of its content."""


class RateLimitError(APIStatusError):
    """Too many requests or tokens in a short time."""


class QuotaError(APIStatusError):
    """No quota or credit is left; waiting a little does not help."""


class InternalServerError(APIStatusError):
    """The API failed, or is overloaded."""


class UnreadableReplyError(APIStatusError):
    """The reply cannot be read: it is not JSON, or not a reply of this API."""


class BlockedResponseError(ProviderError):
    """The API replied with status 200, but refused or filtered the answer."""


class EmptyResponseError(ProviderError):
    """The API replied with status 200, but the answer has neither text nor a tool call."""


class CaptureError(ChatPromptError):
    """What a provider sent could not be captured, or nothing answers it offline."""


class BlockedConnectionError(CaptureError, OSError):
    """Code tried to reach beyond this machine, or to start a program, in an offline run.

    It is an `OSError` too, so that HTTP clients clean up as they do after any failed connection.
    """


class MCPServerError(ChatPromptError):
    """An MCP server could not be started or reached, or does not keep to the protocol."""


class ReplayError(ChatPromptError):
    """Nothing is recorded for a request, or the recording is unreadable."""


# Errors in place of a request: nothing was sent.
NOT_SENT: Final = (BudgetError, MissingSettingError, PayloadError, ReplayError)


class CheckFailedError(ChatPromptError):
    """An answer, or what is sent, does not pass the checks of its case."""


class CheckError(ChatPromptError):
    """A check cannot be graded: it crashed, or what it looks at is missing; so it neither passes nor fails."""


class SnapshotError(ChatPromptError):
    """What a case sends differs from its snapshot, or it has none."""


class MaskError(ChatPromptError):
    """The fixture `eval_masks` gives something other than masks."""


class EvalFileWarning(_Shown, UserWarning):
    """Something in an eval file that is valid and probably a mistake, such as a tag that looks mistyped."""


class PayloadWarning(_Shown, UserWarning):
    """The API will reject what is sent, or read it in another way than you wrote it.

    Args:
        text: what will happen, what to change, the rule and its source.
        rule: the name of the preflight rule.
        message_number: 1-based number of the message among the case's `input_messages`; `None` if it is not about one.
        location: the keys and indexes that lead to one of the settings, a tool or a format; empty if it is not about
            one.
    """

    # With defaults, since pytest-xdist makes the warning again from its text alone.
    def __init__(
        self, text: str, *, rule: str = "", message_number: int | None = None, location: Location = ()
    ) -> None:
        self.rule = rule
        self.message_number = message_number
        self.location = location
        super().__init__(text)
