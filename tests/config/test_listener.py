"""Tokens, addresses, certificates, and what holds between settings."""

from pathlib import Path
from typing import Final

import pytest

from mead.config import Settings
from tests.config.conftest import Load, refused

PEM: Final = Path(__file__).parent / "listener_test.pem"
STRAY_KEY: Final = Path(__file__).parent / "stray_key_test.pem"
LOCKED_KEY: Final = Path(__file__).parent / "locked_key_test.pem"
TOKEN_ALLOWED: Final = "allowed: 32 or more visible ASCII characters (see `flask mead token`)"


# -- tokens ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "what"),
    [
        ("x" * 31, "a text of 31 characters"),
        ("", "an empty text"),
        (" \t", "an empty text"),
        ("x" * 31 + "é", "a text"),
        ("x" * 31 + " ", "a text"),
        (12, "a number"),
        (["x" * 32], "a list"),
        ({"a": "x" * 32}, "a table"),
        ("env:GONE", 'a reference to the variable "GONE", which is not set'),
        ("env:BLANK", 'a reference to the variable "BLANK", which is empty'),
        ("env:", 'a reference to the variable "", which is not set'),
        ("file:gone", 'a reference to the file "gone": no such file or directory'),
        ("file:blank", 'a reference to the file "blank", which is empty'),
        ("file:.", 'a reference to the file ".": is a directory'),
        ("file:", 'a reference to the file "", which is no UTF-8 text'),
        ("file:/dev/zero", 'a reference to the file "/dev/zero": not a regular file'),
        ("file:large", 'a reference to the file "large": larger than 65536 bytes'),
    ],
)
def test_a_token_that_is_none_is_a_fault(tmp_path: Path, token: object, what: str) -> None:
    (tmp_path / "blank").write_text("\n")
    (tmp_path / "large").write_text("x" * 65_537)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the lines are compared below
        Settings.build({"deck": {"token": token}}, directory=tmp_path, environ={"BLANK": " "})
    assert caught.value.faults == (f"deck.token (code): found {what}; {TOKEN_ALLOWED}",)


def test_a_token_from_a_variable_or_a_file_is_kept_as_its_digest(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("f" * 40 + "\r\n")
    settings = Settings.build(
        {"deck": {"token": "file:token"}, "mcp_server": {"token": "env:T"}},
        directory=tmp_path,
        environ={"T": "e" * 32},
    )
    deck, listener = settings.deck.token, settings.mcp_server.token
    assert deck is not None
    assert listener is not None
    assert deck.matches("f" * 40)
    assert not deck.matches("f" * 40 + "\r\n")
    assert not deck.matches("e" * 32)
    assert listener.matches("e" * 32)


def test_the_two_tokens_differ(load: Load) -> None:
    same = {"deck": {"token": "env:T"}, "mcp_server": {"token": "t" * 32}}
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the lines are compared below
        Settings.build(same, environ={"T": "t" * 32})
    assert caught.value.faults == (
        "deck.token (code): is the same as mcp_server.token; allowed: a token of its own",
    )


def test_equal_tokens_are_told_together_with_other_faults() -> None:
    lines = refused({"deck": {"token": "t" * 32, "x": 1}, "mcp_server": {"token": "t" * 32}})
    assert len(lines) == 2


# -- addresses -------------------------------------------------------------------------------------


def test_addresses_are_kept_in_their_normal_form() -> None:
    listener = Settings.build(
        {
            "mcp_server": {
                "address": "[::1]",
                "allowed_origins": ["HTTPS://App.Example:443", "http://localhost:3000"],
                "allowed_hosts": ["Mead.Example", "mead.example:8443", "[::1]:4040"],
                "trusted_proxies": ["10.1.2.3/8", "192.168.0.1", "fd00::/8"],
            }
        }
    ).mcp_server
    assert listener.address == "::1"
    assert listener.allowed_origins == ("https://app.example", "http://localhost:3000")
    assert listener.allowed_hosts == ("mead.example", "mead.example:8443", "[::1]:4040")
    assert listener.trusted_proxies == ("10.0.0.0/8", "192.168.0.1", "fd00::/8")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("address", "mead.example"),
        ("address", "127.0.0.1:4040"),
        ("address", 127),
        ("port", 0),
        ("port", 65_536),
        ("port", "4040"),
        ("maximum_connections", 0),
        ("allow_effect", 1),
        ("allowed_origins", "https://a"),
        ("allowed_origins", ["*"]),
        ("allowed_origins", ["null"]),
        ("allowed_origins", ["https://a/"]),
        ("allowed_origins", ["https://a", None]),
        ("allowed_hosts", ["https://a"]),
        ("allowed_hosts", ["a:b"]),
        ("trusted_proxies", ["*"]),
        ("trusted_proxies", ["proxy"]),
        ("certfile", "gone.pem"),
    ],
)
def test_a_wrong_value_is_one_line_with_its_key(key: str, value: object) -> None:
    lines = refused({"mcp_server": {key: value}})
    assert lines[0].startswith(f"mcp_server.{key}")
    assert "; allowed: " in lines[0]


# -- certificates ----------------------------------------------------------------------------------


def test_certificate_and_key_together_are_taken() -> None:
    listener = Settings.build({"mcp_server": {"certfile": PEM, "keyfile": PEM}}).mcp_server
    assert (listener.certfile, listener.keyfile) == (PEM, PEM)


@pytest.mark.parametrize(("given", "missing"), [("certfile", "keyfile"), ("keyfile", "certfile")])
def test_one_without_the_other_is_a_fault(given: str, missing: str) -> None:
    (line,) = refused({"mcp_server": {given: PEM}})
    where, what = line.split(": ", 1)
    assert where == f"mcp_server.{missing} (code)"
    assert what == "is missing; allowed: both or neither of certfile and keyfile"


@pytest.mark.parametrize(
    ("certificate", "key", "what"),
    [
        (PEM, STRAY_KEY, "found two files that do not belong together"),
        (PEM, LOCKED_KEY, "found what is not usable PEM"),
        (STRAY_KEY, PEM, "found what is not usable PEM"),
        (PEM, Path(__file__), "found what is not usable PEM"),
    ],
)
def test_a_pair_that_no_server_could_use_is_a_fault(
    certificate: Path, key: Path, what: str
) -> None:
    (line,) = refused({"mcp_server": {"certfile": certificate, "keyfile": key}})
    assert line.startswith(f"mcp_server.keyfile (code): {what}; allowed: ")


# -- the deck, the runtime, the store --------------------------------------------------------------


@pytest.mark.parametrize(
    "deck",
    [
        {"idle_timeout_ms": 15_000},
        {"heartbeat_ms": 90_000},
        {"heartbeat_ms": 50, "idle_timeout_ms": 50},
    ],
)
def test_the_idle_timeout_exceeds_the_heartbeat(deck: dict[str, object]) -> None:
    (line,) = refused({"deck": deck})
    if "idle_timeout_ms" in deck:
        assert line.startswith("deck.idle_timeout_ms (code): found ")
        assert "allowed: more than deck.heartbeat_ms, which is " in line
    else:
        assert line.startswith("deck.heartbeat_ms (code): found ")
        assert "allowed: less than deck.idle_timeout_ms, which is " in line


def test_a_heartbeat_that_is_wrong_itself_is_told_once() -> None:
    (line,) = refused({"deck": {"heartbeat_ms": "x", "idle_timeout_ms": 2}})
    assert line.startswith("deck.heartbeat_ms (code): found")


def test_the_turn_handler_is_one_that_exists() -> None:
    named = {"turn_handler": "mine", "handlers": {"mine": "house.handlers:Mine"}}
    assert Settings.build({"runtime": named}).runtime.turn_handler == "mine"
    assert refused({"runtime": {"turn_handler": "mine"}}) == (
        'runtime.turn_handler (code): found "mine"; allowed: router, echo or a name of'
        " runtime.handlers",
    )


@pytest.mark.parametrize("name", ["router", "echo", "a b", ""])
def test_a_handler_needs_a_name_of_its_own(name: str) -> None:
    (line,) = refused({"runtime": {"handlers": {name: "m:C"}}})
    assert "is no name for this table; allowed: 1 to 64 letters" in line


def test_a_handler_is_a_class_in_a_module() -> None:
    assert refused({"runtime": {"handlers": {"mine": "house.handlers.Mine"}}}) == (
        'runtime.handlers.mine (code): found "house.handlers.Mine"; allowed: package.module:Class',
    )


def test_a_directory_that_is_a_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "file/below", "", "nul\0", "x" * 5000):
        (line,) = refused({"storage": {"directory": str(tmp_path / name) if name else ""}})
        assert line.startswith("storage.directory (code): found ")


@pytest.mark.parametrize("mode", ["Always", "on", True, ""])
def test_fsync_is_one_of_four_words(mode: object) -> None:
    (line,) = refused({"storage": {"fsync": mode}})
    assert line.endswith("; allowed: one of always, turn, interval, never")


def test_an_unknown_key_is_told_the_nearest_known_one() -> None:
    assert refused({"deck": {"heart_beat_ms": 1}})[0].startswith(
        "deck.heart_beat_ms (code): unknown key; did you mean deck.heartbeat_ms?; known here: "
    )
    assert refused({"deck": {"certfile": "x"}})[0].startswith(
        "deck.certfile (code): unknown key; did you mean mcp_server.certfile?; known here: token,"
    )
    assert refused({"deck": {"zzz": 1}})[0].startswith(
        "deck.zzz (code): unknown key; known here: token,"
    )
    assert refused({"decks": {}})[0].startswith("decks (code): unknown key; did you mean deck?;")


def test_keys_with_a_meaning_for_marshmallow_are_unknown_like_any_other() -> None:
    lines = refused({"_schema": 1, "deck": {"_schema": 1, "": 1}})
    assert [line.partition(";")[0] for line in lines] == [
        "deck._schema (code): unknown key",
        'deck."" (code): unknown key',
        "_schema (code): unknown key",
    ]


def test_a_key_with_control_characters_stays_on_its_line() -> None:
    (line,) = refused({"deck": {"a\nb\x1b[31m": "x"}})
    assert line.startswith('deck."a\\nb\\x1b[31m" (code): unknown key; ')
