"""What commands print cannot steer the terminal, nor read as something else than it is."""

import json

import pytest

from mead.cli.output import harmless, harmless_line, harmless_lines, print_json, print_table

STEERING = ["\x1b", "\x07", "\x9b", "\x00", "\r", "\x7f", "\u202e", "\u2066", "\u2028", "\ud800"]


@pytest.mark.parametrize("char", STEERING, ids=ascii)
@pytest.mark.parametrize("shown", [harmless, harmless_line, harmless_lines])
def test_a_character_that_steers_is_shown_by_its_number(shown, char):
    text = shown(f"a{char}b")
    assert char not in text
    assert text in (f"a\\x{ord(char):02x}b", f"a\\u{ord(char):04x}b")


@pytest.mark.parametrize("text", ["Olá, coração", "שלום", "👩\u200d👩\u200d👧", "a\u00a0b", "漢字"])
@pytest.mark.parametrize("shown", [harmless, harmless_line])
def test_what_people_write_is_shown_as_it_is(shown, text):
    assert shown(text) == text


@pytest.mark.parametrize(
    "unseen", ["\u200b", "\u00ad", "\ufeff", "\U000e0061", "\ue000"], ids=ascii
)
def test_a_name_has_no_unseen_character(unseen):
    assert harmless_line(f"read{unseen}_file") == f"read\\{_number(unseen)}_file"


def _number(char):
    return f"x{ord(char):02x}" if ord(char) < 0x100 else f"u{ord(char):04x}"


def test_only_several_lines_keep_their_ends():
    assert harmless_line("a\n\tb") == "a\\x0a\\x09b"
    assert harmless_lines("a\n\tb") == "a\n\\x09b"
    assert harmless("a\n\tb") == "a\n\tb"


def test_json_means_the_same_and_steers_nothing(capsys):
    value = {"text": "".join(STEERING[:-1]), "\u202ename": "Olá"}
    print_json(value)
    printed = capsys.readouterr().out
    assert not set(printed) & set(STEERING)
    assert "Olá" in printed
    assert json.loads(printed) == value


def test_a_cell_stays_in_its_row(capsys):
    print_table(("model",), [("gpt\n\x1b[2Jtotal  0",)])
    assert capsys.readouterr().out == "model\ngpt\\x0a\\x1b[2Jtotal  0\n"
