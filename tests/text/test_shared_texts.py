"""Shared texts: found again in what cases send, and looked at once."""

from __future__ import annotations

import pytest

from pytest_chatprompt.text.shared_texts import SharedTexts, TextPiece

LONG = "\n".join(f"line {number} of a long document" for number in range(1_000))
OTHER = "\n".join(f"{number}. another document" for number in range(1_000))


def shared_texts(*texts: str) -> SharedTexts:
    shared = SharedTexts()
    for text in texts:
        shared.add(text)
    return shared


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        pytest.param("short", [("short", False)], id="none"),
        pytest.param("", [("", False)], id="no text"),
        pytest.param(LONG, [(LONG, True)], id="the whole text"),
        pytest.param(f"a\nb\n{LONG}", [("a\nb", False), (LONG, True)], id="at the end"),
        pytest.param(f"{LONG}\na\n", [(LONG, True), ("a\n", False)], id="at the beginning"),
        pytest.param(f"\n{LONG}\n", [("", False), (LONG, True), ("", False)], id="between line breaks"),
        pytest.param(
            f"a\n{LONG}\nb\n{LONG}\nc",
            [("a", False), (LONG, True), ("b", False), (LONG, True), ("c", False)],
            id="twice",
        ),
        pytest.param(
            f"{OTHER}\na\n{LONG}\n{OTHER}",
            [(OTHER, True), ("a", False), (LONG, True), (OTHER, True)],
            id="several texts",
        ),
        pytest.param(f"a {LONG}", [(f"a {LONG}", False)], id="not at the beginning of a line"),
        pytest.param(f"{LONG} b", [(f"{LONG} b", False)], id="not to the end of a line"),
        pytest.param(
            f"{LONG[:500]}\n{LONG}", [(LONG[:500], False), (LONG, True)], id="after a line that begins as it does"
        ),
        pytest.param(
            f"{f'{LONG[:500]}{chr(10)}' * 4}{LONG}",
            [(f"{f'{LONG[:500]}{chr(10)}' * 4}{LONG}", False)],
            id="its beginning is too frequent",
        ),
    ],
)
def test_a_text_is_cut_where_shared_texts_begin_and_end(text: str, pieces: list[tuple[str, bool]]) -> None:
    found = shared_texts(LONG, OTHER).pieces(text)
    assert found == pieces
    assert "\n".join(piece.text for piece in found) == text


def test_a_short_text_is_not_shared() -> None:
    assert shared_texts("short").pieces("short") == [("short", False)]


@pytest.mark.parametrize(("length", "is_shared"), [(19_999, False), (20_000, True)])
def test_a_text_is_long_from_20_000_characters_on(length: int, is_shared: bool) -> None:
    text = "x" * length
    assert shared_texts(text).pieces(text) == [(text, is_shared)]


def test_only_the_texts_that_were_read_last_are_looked_for() -> None:
    shared = shared_texts(LONG, *(f"{number}\n{OTHER}" for number in range(7)))
    assert shared.pieces(LONG) == [(LONG, True)]
    shared.add(f"7\n{OTHER}")
    assert shared.pieces(LONG) == [(LONG, False)]
    assert shared.pieces(f"7\n{OTHER}") == [(f"7\n{OTHER}", True)]


def test_what_is_computed_of_a_shared_text_is_computed_once() -> None:
    shared, computed = shared_texts(LONG), []

    def length(text: str) -> int:
        computed.append(text)
        return len(text)

    for _ in range(2):
        assert [shared.remember(piece, "length", length) for piece in shared.pieces(f"a\n{LONG}")] == [1, len(LONG)]
    assert computed == ["a", LONG, "a"]


def test_it_is_computed_again_for_another_key_or_version() -> None:
    shared, piece = shared_texts(LONG), TextPiece(LONG, is_shared=True)
    one, two = object(), object()
    values = iter(range(5))
    calls = [("a", one), ("a", one), ("b", one), ("a", two), ("a", two), ("a", one)]
    assert [shared.remember(piece, key, lambda _: next(values), version) for key, version in calls] == [
        0, 0, 1, 2, 2, 3,
    ]  # fmt: skip


def test_what_is_known_of_a_text_is_forgotten_with_it_and_not_before() -> None:
    shared, piece = shared_texts(LONG), TextPiece(LONG, is_shared=True)
    assert shared.remember(piece, "a", lambda _: 1) == 1
    shared.add(OTHER)
    assert shared.remember(piece, "a", lambda _: 2) == 1
    for number in range(8):
        shared.add(f"{number}\n{OTHER}")
    assert shared.remember(piece, "a", lambda _: 2) == 2


def test_the_middle_of_a_searched_text_is_left_out_unless_something_was_found() -> None:
    shared = shared_texts(LONG)
    rest = shared.without_searched(f"a\n{LONG}\nb", "x", lambda _: False, None)
    assert rest == f"a\n{LONG[:8_192]}\0{LONG[-8_192:]}\nb"
    assert shared.without_searched(f"a\n{LONG}\nb", "y", lambda _: True, None) == f"a\n{LONG}\nb"
    assert shared.without_searched("a\nb", "x", lambda _: False, None) == "a\nb"
    assert shared.without_searched(OTHER, "x", lambda _: False, None) == OTHER
    assert shared.without_searched(LONG, "x", lambda _: True, object()) == LONG


def test_another_thread_may_remember_something_while_a_text_is_added() -> None:
    shared = shared_texts(LONG)

    class Interrupting(str):
        """Equal to no text; while it is compared, another text is looked at, as if by another thread."""

        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            shared.remember(TextPiece(LONG, is_shared=True), f"key {len(shared._known)}", len)
            return False

    for key in ("a", "b"):
        shared.remember(TextPiece(LONG, is_shared=True), key, len)
    shared.add(Interrupting(OTHER))
    assert shared.pieces(LONG) == [TextPiece(LONG, is_shared=True)]
