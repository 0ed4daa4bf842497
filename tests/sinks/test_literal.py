"""Words from outside on a screen, whatever they hold."""

from __future__ import annotations

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from monitor.sinks.literal import literal

ANY = st.text(st.characters(exclude_categories=()), max_size=300)


@given(ANY, st.integers(2, 60))
@example("\x1b[2J\ud83d\u202e\u2028", 60)
@example("\U000e0041\U000f0000", 60)
def test_nothing_that_a_terminal_acts_on_is_left(text: str, limit: int) -> None:
    shown = literal(text, limit)
    assert len(shown) <= limit
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")
    for character in shown:
        assert unicodedata.category(character) not in ("Cc", "Cs", "Co", "Zl", "Zp")
        assert unicodedata.category(character) != "Cf" or character in "\u200c\u200d"


@given(st.text(st.characters(categories=("L", "N", "P", "S")), max_size=60))
def test_ordinary_words_are_left_as_they_are(text: str) -> None:
    assert literal(text) == text


def test_an_endless_text_is_not_looked_at_whole() -> None:
    assert literal(" " * 10_000_000 + "x", 10) == "…"
    assert len(literal("\u0301" * 10_000_000, 10)) <= 10
