"""A title is visible text on one line."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.deck.naming import (
    DEFAULT_CHARACTERS,
    MAXIMUM_CHARACTERS,
    checked,
    default_title,
    found,
)
from mead.errors import InvalidInput

ANY = st.text(st.characters(), max_size=400)  # half characters, too


@pytest.mark.parametrize(
    "character",
    "\0\n\t\x1b\x7f\x85\x9b\xad\u061c\u200b\u200e\u2028\u2029\u202a\u202e\u2060\u2066\u2069\ufeff"
    "\ud800\U000e0041",
    ids=ascii,
)
def test_what_is_not_seen_or_ends_the_line_is_refused(character):
    with pytest.raises(InvalidInput, match="one line of visible text"):
        checked(f"a{character}b")
    assert found(f"a{character}b") in ("ab", "a b")


@pytest.mark.parametrize(
    "title",
    [
        "Tea ☕",
        "مرحبا",
        "می‌خواهم",
        "👩‍👩‍👧",
        "שלום (1)",
        "日本語",
        "e\u0301",
        "\U0001faea",
        "\ue000",
    ],
)
def test_what_people_write_is_taken_as_it_is(title):
    assert checked(title) == found(title) == title


@given(ANY)
def test_what_was_found_is_empty_or_would_have_been_taken(title):
    name = found(title)
    assert name == "" or checked(name) == name
    assert found(name) == name


@given(ANY)
def test_a_prompt_names_a_conversation_in_visible_text(prompt):
    name = default_title(prompt)
    assert name == "" or checked(name) == name
    assert len(name) <= DEFAULT_CHARACTERS


@given(ANY)
def test_what_a_person_may_write_has_no_unseen_character(title):
    try:
        name = checked(title)
    except InvalidInput:
        return
    assert len(name) <= MAXIMUM_CHARACTERS
    unseen = {unicodedata.category(each) for each in name if each not in "\u200c\u200d"}
    assert not unseen & {"Cc", "Cf", "Cs", "Zl", "Zp"}
