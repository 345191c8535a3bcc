"""The errors of this package, one tree.

Everything that goes wrong in a way that a user can mend is one of these, and its text is the whole
report: where, what, and what to do. The plugin prints that text without a traceback.

    ChatPromptError
    ├── EvalFileError             an eval file, a case, or a file that a case names
    ├── ProviderError             a provider and what it was asked to do
    │   ├── UnknownProviderError  no fixture answers to the name
    │   ├── PayloadError          the API's shape cannot hold the messages
    │   ├── MissingSettingError   a key or an endpoint is not set
    │   ├── UnreachableError      no answer came: connection refused, timeout, ...
    │   ├── AgentError            an agent could not be started, failed, or gave no answer
    │   ├── ApiError              the API answered, but gave no answer
    │   │   ├── AuthenticationError    the key is wrong
    │   │   ├── PermissionDeniedError  the key is right, and may not do this
    │   │   ├── NotFoundError          there is no such model, deployment or path
    │   │   ├── BadRequestError        the request is refused as it stands
    │   │   ├── ContentFilterError     the prompt is refused for what it says
    │   │   ├── RateLimitError         too many requests, or tokens, in too short a time
    │   │   ├── QuotaError             nothing is left to spend; waiting does not help
    │   │   ├── ServerError            something is wrong on the API's side
    │   │   └── UnreadableReplyError   the reply is none of this API
    │   ├── BlockedResponseError  the API answered, but withheld the answer
    │   └── EmptyResponseError    the API answered, but with nothing
    ├── RecordingError            what a provider sent could not be recorded
    ├── ReplayError               a recorded answer is missing, unreadable, or to another request
    └── SnapshotError             what was sent is not what the snapshot says

Beside it stands one warning, `PayloadWarning`: what can be sent, but will be refused or read otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class ChatPromptError(Exception):
    """Base of every error of this package."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong at one place of an eval file.

    Args:
        path: the eval file, relative to the root folder, with `/`.
        line: 1-based.
        column: 1-based, in characters.
        text: what is wrong and what to write instead.
        case_id: the case it belongs to, if it belongs to one.
    """

    path: str
    line: int
    column: int
    text: str
    case_id: str | None = None

    def __str__(self) -> str:
        case = "" if self.case_id is None else f"case {self.case_id!r}: "
        return f"{self.path}:{self.line}:{self.column}: {case}{self.text}"


class EvalFileError(ChatPromptError):
    """An eval file, one of its cases, or a file that a case names is wrong.

    Args:
        problems: all of them, at least one.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ProviderError(ChatPromptError):
    """A provider cannot do, or did not manage, what it was asked.

    Attributes:
        retries: how many times it was tried again before it was given up.
    """

    retries: int = 0

    def __str__(self) -> str:
        told = super().__str__()
        return f"{told}\nGiven up after {self.retries + 1} tries." if self.retries else told


class UnknownProviderError(ProviderError):
    """No fixture answers to a provider's name."""


class PayloadError(ProviderError):
    """The messages cannot be put into the shape of an API; nothing was sent.

    Args:
        reason: what does not fit, and what to change.
        message_number: 1-based number of the message among the case's `input_messages`, if it is one message.
    """

    def __init__(self, reason: str, *, message_number: int | None = None) -> None:
        self.reason = reason
        self.message_number = message_number
        super().__init__(reason if message_number is None else f"message {message_number}: {reason}")


class MissingSettingError(ProviderError):
    """A key or an endpoint is set neither in the code nor in the environment."""


class UnreachableError(ProviderError):
    """No answer came from the API."""


class AgentError(ProviderError):
    """An agent could not be started, failed, or gave no answer."""


class ApiError(ProviderError):
    """The API answered, but gave no answer.

    Args:
        text: the whole report.
        status: the HTTP status code.
        message: the API's own message, without the key; `""` if it sent none.
        code: the API's own word for the error, such as `insufficient_quota`.
        request_id: what the vendor's support asks for.
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


class AuthenticationError(ApiError):
    """The key is wrong, expired or revoked."""


class PermissionDeniedError(ApiError):
    """The key is right, but may not do this: another project, region or model."""


class NotFoundError(ApiError):
    """There is no such model, deployment or path."""


class BadRequestError(ApiError):
    """The API refuses the request as it stands."""


class ContentFilterError(ApiError):
    """The API refuses the prompt for what it says."""


class RateLimitError(ApiError):
    """Too many requests, or tokens, in too short a time."""


class QuotaError(ApiError):
    """Nothing is left to spend: no quota or no credit. Waiting a little does not help."""


class ServerError(ApiError):
    """Something is wrong on the API's side: a fault, or too much to do."""


class UnreadableReplyError(ApiError):
    """The reply cannot be read: it is no JSON, or none of this API's."""


class BlockedResponseError(ProviderError):
    """The API answered with status 200, but refused or filtered the answer."""


class EmptyResponseError(ProviderError):
    """The API answered with status 200, and there is neither text nor a call in the answer."""


class RecordingError(ChatPromptError):
    """What a provider sent could not be recorded, or nothing answers it offline."""


class ReplayError(ChatPromptError):
    """A recorded answer is missing, cannot be read, or is the answer to another request."""


class SnapshotError(ChatPromptError):
    """What a case sends differs from its snapshot, or it has none."""


class PayloadWarning(UserWarning):
    """What is sent will be refused by the API, or read otherwise than it is written.

    Args:
        text: what will happen, what to change, the rule and its source.
        rule: the name of the rule.
        message_number: 1-based number of the message among the case's `input_messages`, if it is one message.
    """

    # With defaults, since pytest-xdist makes a warning anew of its text alone.
    def __init__(self, text: str, *, rule: str = "", message_number: int | None = None) -> None:
        self.rule = rule
        self.message_number = message_number
        super().__init__(text)
