"""Stand-in errors: what other plugins see of an error whose own text cannot be redacted.

An error comes in, after its texts were redacted in place. It comes out again, or a stand-in for it if it still shows a
secret: its class makes its text anew, an argument is an object that shows one, or the text cannot be changed, as that
of a group. `redaction_hooks` calls it.
"""

from __future__ import annotations

from typing import Any

from pytest_chatprompt.items.report_redactor import TextRedactor


def without_secrets(error: BaseException, redactor: TextRedactor) -> BaseException:
    """An error that shows no secret, neither in its text nor in its `repr`.

    Args:
        error: its texts are redacted already.
        redactor: removes the secrets of the run.

    Returns:
        The same error if it shows none; else one of a subclass of its class, or of `Exception` if there can be none,
        with its name, its attributes and its traceback.
    """
    try:
        text, representation = str(error), repr(error)
    except Exception:
        return error
    redacted_text, redacted_representation = redactor.redact(text), redactor.redact(representation)
    if (redacted_text, redacted_representation) == (text, representation):
        return error
    methods = {"__str__": lambda _: redacted_text, "__repr__": lambda _: redacted_representation}
    stand_in = _instance(error, methods, redactor)
    # The texts of these were redacted in place.
    stand_in.__cause__, stand_in.__context__ = error.__cause__, error.__context__
    stand_in.__suppress_context__ = error.__suppress_context__
    return stand_in.with_traceback(error.__traceback__)


def _instance(error: BaseException, methods: dict[str, Any], redactor: TextRedactor) -> BaseException:
    kind = type(error)
    namespace = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, **methods}
    # A group keeps its text where nothing can change it.
    arguments = (redactor.redact(error.message), error.exceptions) if isinstance(error, BaseExceptionGroup) else ()
    try:
        # `__new__` alone: `__init__` may want other arguments.
        subclass: Any = type(kind.__name__, (kind,), namespace)
        stand_in: BaseException = subclass.__new__(subclass, *arguments)
        vars(stand_in).update(vars(error))
    except Exception:
        stand_in = type(kind.__name__, (Exception,), namespace)()
    return stand_in
