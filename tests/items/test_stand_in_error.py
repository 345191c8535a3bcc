"""Stand-in errors: no error that other plugins see shows a secret, and its class is still one of its kind."""

from __future__ import annotations

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.items.stand_in_error import without_secrets

KEY = "sk-live-0123456789abcdef"
REDACTOR = Redactor({"API_KEY": KEY})


class OwnTextError(ValueError):
    def __init__(self, text: str, *, more: object) -> None:
        super().__init__()
        self.text, self.more = text, more

    def __str__(self) -> str:
        return f"own text: {self.text}"


class FinalError(Exception):
    def __init_subclass__(cls) -> None:
        raise TypeError("no subclasses")


class BrokenError(Exception):
    def __str__(self) -> str:
        raise ValueError(KEY)


def raised(error: BaseException) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 any error
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("error", "text", "representation", "kind"),
    [
        pytest.param(ValueError(KEY.encode()), "b'[secret]'", "ValueError(b'[secret]')", ValueError, id="bytes"),
        pytest.param(
            OwnTextError(KEY, more=5), "own text: [secret]", "OwnTextError()", OwnTextError, id="a text of its class"
        ),
        pytest.param(FinalError(KEY.encode()), "b'[secret]'", "FinalError(b'[secret]')", Exception, id="a final class"),
        pytest.param(SystemExit(KEY.encode()), "b'[secret]'", "SystemExit(b'[secret]')", SystemExit, id="an exit"),
        pytest.param(
            BaseExceptionGroup(f"x {KEY}", [KeyboardInterrupt()]),
            "x [secret] (1 sub-exception)",
            "BaseExceptionGroup('x [secret]', [KeyboardInterrupt()])",
            BaseExceptionGroup,
            id="a group",
        ),
    ],
)
def test_a_stand_in_shows_no_secret(
    error: BaseException, text: str, representation: str, kind: type[BaseException]
) -> None:
    error.__cause__ = cause = KeyError("cause")
    stand_in = without_secrets(raised(error), REDACTOR)
    assert (str(stand_in), repr(stand_in), type(stand_in).__name__) == (text, representation, type(error).__name__)
    assert isinstance(stand_in, kind)
    assert stand_in.__traceback__ is error.__traceback__ is not None
    assert (stand_in.__cause__, stand_in.__suppress_context__) == (cause, True)


def test_a_stand_in_has_the_attributes_of_the_error() -> None:
    stand_in = without_secrets(OwnTextError(KEY, more=5), REDACTOR)
    assert isinstance(stand_in, OwnTextError)
    assert stand_in.more == 5


def test_the_errors_in_a_group_stay() -> None:
    inner = ValueError("x")
    stand_in = without_secrets(ExceptionGroup(KEY, [inner]), REDACTOR)
    assert isinstance(stand_in, ExceptionGroup)
    assert (stand_in.message, stand_in.exceptions) == ("[secret]", (inner,))


@pytest.mark.parametrize("error", [ValueError("x"), BrokenError()], ids=["no secret", "a text that cannot be made"])
def test_other_errors_stay_the_same(error: BaseException) -> None:
    assert without_secrets(error, REDACTOR) is error
