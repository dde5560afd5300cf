"""What is shown of a model's words is bounded and can always be sent."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from mead.deck.builders import DELTA_BYTES, pieces
from mead.deck.excerpt import TOTAL_BYTES, VALUE_CHARACTERS, arguments_shown, text_shown

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), values))
def test_whatever_a_model_passes_can_be_sent(arguments):
    assert len(orjson.dumps(arguments_shown(arguments))) <= TOTAL_BYTES


def test_short_arguments_are_shown_as_they_are():
    arguments = {"path": "/notes", "tags": ["a", {"b": None}], "count": 3}
    assert arguments_shown(arguments) == arguments


def test_a_long_value_is_cut_at_2000_characters():
    shown = arguments_shown({"text": "x" * 2001, "list": ["y" * 3000], "fits": "z" * 2000})
    assert len(shown["text"]) == VALUE_CHARACTERS
    assert shown["text"].endswith("…")
    assert len(shown["list"]) == VALUE_CHARACTERS
    assert shown["fits"] == "z" * 2000


def test_many_long_values_are_cut_at_32_kib_in_all():
    shown = arguments_shown({f"key{n}": "é" * 2000 for n in range(50)})
    assert len(orjson.dumps(shown)) <= TOTAL_BYTES
    assert "…" in shown
    assert len(shown) > 5


def test_what_json_cannot_hold_is_not_shown_but_does_not_fail():
    shown = arguments_shown({"big": 10**40, "half": "\ud800", "nested": ["\ud800"]})
    assert orjson.dumps(shown)
    assert shown["big"] == "(not shown)"


def test_a_summary_is_cut():
    assert text_shown("x" * 5000) == "x" * 1999 + "…"


@given(st.text(), st.integers(4, 40))
def test_pieces_join_to_the_text_and_each_fits(text, maximum):
    parts = pieces(text, maximum)
    assert "".join(parts) == text
    assert all(0 < len(part.encode()) <= maximum for part in parts)


def test_a_long_text_takes_as_few_deltas_as_it_can():
    assert [len(part) for part in pieces("x" * (DELTA_BYTES * 2 + 1))] == [
        DELTA_BYTES,
        DELTA_BYTES,
        1,
    ]


def test_all_arguments_together_have_at_most_32_kib_whatever_their_sizes():
    sixteen = {f"k{number:02}": "x" * 2000 for number in range(16)}
    for size in range(400, 700):
        shown = arguments_shown({**sixteen, "last": "y" * size, "more": "z" * 100})
        assert len(orjson.dumps(shown)) <= 32 * 1024
        assert len(shown) > 16
