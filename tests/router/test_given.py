"""Where given text ends.  Spec: section 4 (any doubt goes to the cloud)."""

import pytest

from mead.router import doubt_words
from mead.router.given import end_of_given
from mead.router.request import QUOTED, fold, tokens
from mead.router.words import ASKING, OBJECTS


def behind(text: str) -> str | None:
    """What is read again behind the given text that `text` begins with; None if all is given."""
    found = tokens(fold(text))
    end = end_of_given(found, 0)
    return " ".join(found[end:]) if end < len(found) else None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('"bom dia" and more', "and more"),
        ("he said «no» twice", "twice"),
        ("a\n\nb", "\n b"),
        ("\n\na\n \nb", "\n b"),
        ("a\r\n\r\nb", "\n b"),
        ("a\u2029\u2029b", "\n b"),
        ("a. Also b", "also b"),
        ("a\nNow b", "now b"),
        ("a. And then b", "and then b"),
        ("a! Por favor, b", None),
        ("a. Explain b", "explain b"),
        ("a. Could you please explain b", "could you please explain b"),
        ("a\nExplain it", "explain it"),
        ("a\nExplain\nb", None),
        ("a and explain b", "and explain b"),
        ("a e compara b", "e compara b"),
        ("a, analyse them", "analyse them"),
        ("a, analyse, plan", None),
        ("please explain a", None),
        ("and explain a", "and explain a"),
        ("explain a, b. How are you? Why?", None),
        ("", None),
    ],
)
def test_given_text_ends_where_the_person_speaks_again(text: str, read: str | None) -> None:
    assert behind(text) == read


def test_what_is_read_again_begins_behind_the_quotation_itself() -> None:
    assert end_of_given(["a", QUOTED, "b"], 0) == 2


def test_an_order_to_reason_is_a_reasoning_word_and_no_polite_one() -> None:
    assert doubt_words.ORDERS <= doubt_words.REASONING
    assert set() == doubt_words.ORDERS & (ASKING | OBJECTS)
