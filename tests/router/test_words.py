"""The word lists hold together: everything is spelt as prompts are read, and nothing is idle."""

import pytest

from mead.router import doubt_words, words
from mead.router.lexicon import KNOWN, Lexicon
from mead.router.request import fold, tokens
from mead.router.routine_words import ROUTINES

PHRASES = frozenset().union(*(routine.phrases for routine in ROUTINES))
SETS = {
    "REASONING": doubt_words.REASONING,
    "ORDERS": doubt_words.ORDERS,
    "OTHER_REQUESTS": doubt_words.OTHER_REQUESTS,
    "NEUTRAL": doubt_words.NEUTRAL,
    "FOREIGN": doubt_words.FOREIGN,
    "FOREIGN_HINTS": doubt_words.FOREIGN_HINTS,
    "LOOKALIKES": doubt_words.LOOKALIKES,
    "ROUTINES": PHRASES,
    "KNOWN": KNOWN,
    "ADDITIVE": words.ADDITIVE,
    "ABBREVIATIONS": words.ABBREVIATIONS,
}


@pytest.mark.parametrize("name", SETS)
def test_every_entry_is_spelt_as_a_prompt_is_read(name: str) -> None:
    odd = {
        entry for entry in SETS[name] if fold(entry) != entry or " ".join(tokens(entry)) != entry
    }
    assert odd == set()


def test_no_entry_asks_for_reasoning_and_for_routine() -> None:
    assert set() == PHRASES & doubt_words.REASONING
    assert set() == doubt_words.NEUTRAL & doubt_words.REASONING
    assert set() == doubt_words.LOOKALIKES & doubt_words.REASONING


def test_no_word_of_the_three_languages_counts_as_foreign() -> None:
    singles = {entry for entry in PHRASES | doubt_words.REASONING if " " not in entry}
    assert doubt_words.FOREIGN & (singles | KNOWN) == set()


def test_every_lookalike_is_one_slip_from_a_reasoning_word() -> None:
    index = Lexicon((), ())
    idle = {word for word in doubt_words.LOOKALIKES if not index.one_slip_from(word)}
    assert idle == set()


def test_every_word_with_an_own_meaning_is_safe_from_the_spelling_check() -> None:
    index = Lexicon((), ())
    assert {word for word in KNOWN | PHRASES if index.misspelt(word)} == set()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("explian", "explain"),  # swapped; codespell:ignore explian
        ("expain", "explain"),  # left out; codespell:ignore expain
        ("explaain", "explain"),  # doubled
        ("exqlain", "explain"),  # changed
        ("expl4in", "explain"),  # changed to a digit
        ("porqe", "porque"),
        ("jusitfica", "justifica"),
    ],
)
def test_one_slip_is_recognised(typed: str, meant: str) -> None:
    assert Lexicon((), ()).misspelt(typed) == meant


@pytest.mark.parametrize("word", ["planet", "letter", "season", "drive", "explnia", "xplan", "why"])
def test_a_word_of_its_own_and_two_slips_are_not(word: str) -> None:
    assert Lexicon((), ()).misspelt(word) is None
