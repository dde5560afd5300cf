"""What must not be seen is not."""

import copy
import json
import pickle
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.config import MASK, Secret, Settings, TokenDigest

HIDDEN = "sk-ant-0123456789-0123456789-abcdef"


@pytest.mark.parametrize("kept", [Secret(HIDDEN), TokenDigest(HIDDEN)])
def test_no_way_of_printing_shows_it(kept: Secret | TokenDigest) -> None:
    printed = [str(kept), repr(kept), f"{kept}", f"{kept!r:>40}", f"{[kept]}", ascii(kept)]
    for text in printed:
        assert MASK in text
        assert HIDDEN not in text
        assert "digest" not in text.lower().replace("tokendigest", "")


@pytest.mark.parametrize("kept", [Secret(HIDDEN), TokenDigest(HIDDEN)])
def test_nothing_writes_it_anywhere(kept: Secret | TokenDigest) -> None:
    for write in (pickle.dumps, json.dumps, orjson.dumps):
        with pytest.raises(TypeError):
            write(kept)
    with pytest.raises(AttributeError):
        kept.note = "x"  # type: ignore[union-attr]
    assert not hasattr(kept, "__dict__")


def test_a_secret_is_told_when_asked() -> None:
    assert Secret(HIDDEN).reveal() == HIDDEN
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert copy.deepcopy(Secret("a")) == Secret("a")
    assert not Secret("")


@given(token=st.text(), other=st.text())
def test_a_digest_matches_its_token_and_no_other(token: str, other: str) -> None:
    digest = TokenDigest(token)
    assert digest.matches(token)
    assert digest.matches(other) == (token == other)


def test_a_digest_takes_any_candidate() -> None:
    assert not TokenDigest("x").matches("\udcff\x00")
    assert TokenDigest("é") == TokenDigest("é")
    assert TokenDigest("é") != TokenDigest("e")


def test_a_settings_tree_can_be_changed_without_showing_it() -> None:
    settings = Settings.build({"deck": {"token": HIDDEN}})
    changed = replace(settings, deck=replace(settings.deck, queue_limit=3))
    assert changed.deck.token == TokenDigest(HIDDEN)
    assert HIDDEN not in repr(changed)
