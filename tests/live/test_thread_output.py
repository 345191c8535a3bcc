"""Thread output: kept for the thread that asks, put out again where it is asked for, and nothing stays patched."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from io import StringIO

import pytest

from pytest_chatprompt.live.thread_output import KeptOutput, OutputKeeper


def in_thread(work: Callable[[], object]) -> None:
    """Run something in a thread, to its end."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


def keep(keeper: OutputKeeper, work: Callable[[], object]) -> KeptOutput:
    """What a thread puts out, while it does something."""
    outputs: list[KeptOutput] = []

    def run() -> None:
        with keeper.keep() as output:
            outputs.append(output)
            work()

    in_thread(run)
    return outputs[0]


def put_out() -> None:
    print("printed")
    print("cried", file=sys.stderr)
    logging.getLogger("grader").error("logged")


def test_output_of_a_thread_comes_when_it_is_asked_for_and_once(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    output = keep(OutputKeeper(), put_out)
    assert capsys.readouterr() == ("", "")
    assert caplog.messages == []
    output.emit()
    output.emit()
    assert capsys.readouterr() == ("printed\n", "cried\n")
    assert caplog.messages == ["logged"]


def test_output_of_other_threads_comes_at_once(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    keeper = OutputKeeper()
    # The thread that keeps is at work meanwhile.
    output = keep(keeper, lambda: in_thread(put_out))
    assert capsys.readouterr() == ("printed\n", "cried\n")
    assert caplog.messages == ["logged"]
    output.emit()
    assert capsys.readouterr() == ("", "")


def test_two_threads_keep_apart_what_they_put_out(capsys: pytest.CaptureFixture[str]) -> None:
    keeper = OutputKeeper()
    inner: list[KeptOutput] = []

    def work() -> None:
        print("outer")
        inner.append(keep(keeper, lambda: print("inner")))
        # It still keeps, though the other one has ended.
        print("outer again")

    output = keep(keeper, work)
    inner[0].emit()
    assert capsys.readouterr().out == "inner\n"
    output.emit()
    assert capsys.readouterr().out == "outer\nouter again\n"


def test_streams_of_before_are_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest changes the streams from phase to phase, while a thread goes on."""
    keeper = OutputKeeper()
    first, second = StringIO(), StringIO()
    monkeypatch.setattr(sys, "stdout", second)
    keeper.note_streams()
    monkeypatch.setattr(sys, "stdout", first)

    def work() -> None:
        print("one")
        sys.stdout = second
        print("two")

    output = keep(keeper, work)
    assert (first.getvalue(), second.getvalue()) == ("", "")
    monkeypatch.setattr(sys, "stdout", first)
    output.emit()
    assert first.getvalue() == "one\ntwo\n"


def test_nothing_stays_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(StringIO):
        pass

    stream, patched = Own(), Own()
    write = patched.write
    patched.write = write  # type: ignore[method-assign] # as somebody else may have done
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", patched)
    before = warnings.warn, logging.Logger.handle
    keep(OutputKeeper(), lambda: None)
    assert (warnings.warn, logging.Logger.handle) == before
    assert "write" not in vars(stream)
    assert vars(patched)["write"] is write


def test_a_stream_that_cannot_be_patched_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed:
        __slots__ = ("texts",)
        texts: list[str]

        def write(self, text: str) -> None:
            self.texts.append(text)

    stream = Fixed()
    stream.texts = []
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", None)
    keep(OutputKeeper(), lambda: print("printed"))
    assert "".join(stream.texts) == "printed\n"


def warn_here(text: str, stacklevel: int) -> None:
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


def test_a_warning_is_about_the_line_that_it_is_about(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    levels = (1, 2, 1000)

    def warn_at_levels() -> None:
        for level in levels:
            warn_here(f"at {level}", level)

    output = keep(OutputKeeper(), warn_at_levels)
    assert not recwarn.list
    output.emit()
    own = warn_here.__code__.co_firstlineno
    here = test_a_warning_is_about_the_line_that_it_is_about.__code__.co_firstlineno
    kept = [(str(each.message), each.category) for each in recwarn.list]
    assert kept == [(f"at {level}", DeprecationWarning) for level in levels]
    assert (recwarn.list[0].filename, recwarn.list[0].lineno) == (__file__, own + 1)
    assert (recwarn.list[1].filename, recwarn.list[1].lineno) == (__file__, here + 6)
    # The bottom of the stack, as `warnings.warn` has it.
    assert recwarn.list[2].filename == threading.__file__


def test_a_warning_of_another_thread_is_about_the_same_line_as_ever(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    keep(OutputKeeper(), lambda: in_thread(lambda: warn_here("now", 1)))
    assert [(each.filename, each.lineno) for each in recwarn.list] == [
        (__file__, warn_here.__code__.co_firstlineno + 1)
    ]


def test_a_warning_without_a_category_is_a_user_warning(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    keep(OutputKeeper(), lambda: warnings.warn("text")).emit()  # noqa: B028 - that is the point
    keep(OutputKeeper(), lambda: warnings.warn(RuntimeWarning("own"), stacklevel=1)).emit()
    assert [each.category for each in recwarn.list] == [UserWarning, RuntimeWarning]


def test_a_warning_that_is_an_error_is_raised_once_all_is_put_out(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        warn_here("first", 1)
        warn_here("second", 1)
        print("printed")

    output = keep(OutputKeeper(), work)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning, match="first") as raised:
            output.emit()
    assert capsys.readouterr().out == "printed\n"
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == (__file__, warn_here.__code__.co_firstlineno + 1)
