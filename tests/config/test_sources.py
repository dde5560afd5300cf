"""Which source wins, and what is not a source at all."""

import os
from pathlib import Path

import pytest

from mead.config import Settings, load_settings
from mead.errors import ConfigurationError
from tests.config.conftest import Faults, Load, refused


def test_nothing_said_gives_the_defaults(load: Load) -> None:
    assert load() == Settings()


def test_the_environment_wins_over_the_file_and_an_override_over_both(load: Load) -> None:
    toml = "[deck]\nqueue_limit = 2\nheartbeat_ms = 2\nticket_ttl_ms = 2"
    environ = {"MEAD_DECK__HEARTBEAT_MS": "3", "MEAD_DECK__TICKET_TTL_MS": "3"}
    deck = load(toml, environ, {"deck": {"ticket_ttl_ms": 4}}).deck
    assert (deck.queue_limit, deck.heartbeat_ms, deck.ticket_ttl_ms) == (2, 3, 4)


def test_tables_are_merged_and_lists_replaced(load: Load) -> None:
    toml = """
        [mcp_server]
        allowed_hosts = ["a", "b"]
        [runtime.handlers]
        one = "m:One"
    """
    environ = {
        "MEAD_MCP_SERVER__ALLOWED_HOSTS": '["c"]',
        "MEAD_RUNTIME__HANDLERS__TWO": "m:Two",
    }
    settings = load(toml, environ)
    assert settings.mcp_server.allowed_hosts == ("c",)
    assert settings.runtime.handlers == {"one": "m:One", "two": "m:Two"}


def test_mead_config_names_the_file(load: Load, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("[deck]\nqueue_limit = 7")
    settings = load("[deck]\nqueue_limit = 2", {"MEAD_CONFIG": "other.toml"})
    assert settings.deck.queue_limit == 7
    assert settings.sources["deck.queue_limit"] == "other.toml"


def test_a_file_that_mead_config_names_and_that_is_not_there_is_a_fault(faults: Faults) -> None:
    assert faults(None, {"MEAD_CONFIG": "gone.toml"}) == (
        'MEAD_CONFIG: found "gone.toml", which does not exist; allowed: a TOML file',
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "[deck\n",
            "what is not TOML, at line 1, column 6 (no ] at the end of a table's name)",
        ),
        (
            "[deck]\nqueue_limit = \n",
            "what is not TOML, at line 2, column 15"
            " (a value that is none; a text needs quotation marks)",
        ),
        (
            "[router.slots.local]\nmodel = 'a'\n[deck]\n[router.slots.local]\n",
            "what is not TOML, at line 4, column 20"
            " (the table router.slots.local is there twice: replace the first one)",
        ),
        ("x = " + "[" * 100_000, "numbers or nesting that no setting needs"),
        ("x = " + "9" * 10_000, "numbers or nesting that no setting needs"),
    ],
)
def test_a_file_that_is_not_toml_is_one_line_with_the_position(
    faults: Faults, text: str, what: str
) -> None:
    assert faults(text) == (f"mead.toml: found {what}; allowed: a readable TOML file",)


@pytest.mark.parametrize(
    "line",
    [
        "token = {secret}",
        "token = '{secret}",
        "token = '{secret}' '{secret}'",
        'token = "{secret}\\q"',
        "token = ['{secret}'",
        "token = '{secret}'\ntoken = '{secret}'",
        "token = {{ a = '{secret}', a = '{secret}' }}",
        "{secret}",
        "token '{secret}'",
        "[deck]\ntoken = '{secret}'",
    ],
)
def test_the_reason_never_shows_a_value(faults: Faults, line: str) -> None:
    secret = "s-e-c-r-e-t-0123456789"
    (told,) = faults("[deck]\n" + line.format(secret=secret))
    assert "not TOML" in told
    assert told.endswith("); allowed: a readable TOML file")
    assert "0123" not in told


def test_a_file_that_is_not_utf_8_is_one_line_with_the_position(tmp_path: Path) -> None:
    (tmp_path / "mead.toml").write_bytes(b"# ol\xe9\n")
    with pytest.raises(ConfigurationError, match="what is not UTF-8, at byte 4"):
        load_settings({}, tmp_path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "mead.toml").write_bytes(b"\xef\xbb\xbf[deck]\nqueue_limit = 3\n")
    assert load_settings({}, tmp_path).deck.queue_limit == 3


def test_a_directory_or_a_pipe_in_the_place_of_the_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "mead.toml").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for environ in ({}, {"MEAD_CONFIG": "pipe"}, {"MEAD_CONFIG": "/dev/zero"}):
        with pytest.raises(ConfigurationError) as caught:
            load_settings(environ, tmp_path)
        (line,) = caught.value.faults
        assert line.endswith("; allowed: a readable TOML file")


def test_faults_of_the_file_and_of_the_environment_are_told_together(faults: Faults) -> None:
    lines = faults("[deck\n", {"MEAD_DECK__QUEUE_LIMIT": "0", "MEAD_NO__SUCH": "1"})
    assert [line.split(":")[0] for line in lines] == [
        "mead.toml",
        "deck.queue_limit (environment MEAD_DECK__QUEUE_LIMIT)",
        "no (environment MEAD_NO__SUCH)",
    ]


# -- values of variables ---------------------------------------------------------------------------


def test_variables_hold_json_where_it_is_json(load: Load) -> None:
    settings = load(
        None,
        {
            "MEAD_MCP_SERVER__PORT": "8080",
            "MEAD_MCP_SERVER__ALLOW_EFFECT": "true",
            "MEAD_MCP_SERVER__ALLOWED_HOSTS": '["a"]',
            "MEAD_DECK": '{"queue_limit": 5, "heartbeat_ms": 6}',
            "MEAD_DECK__HEARTBEAT_MS": "7",
            "MEAD_STORAGE__FSYNC": '"never"',
            "MEAD_ROUTER__SLOTS__CLOUD": '{"provider": "scripted", "script": ["hello"]}',
        },
    )
    assert settings.mcp_server.port == 8080
    assert settings.mcp_server.allow_effect is True
    assert settings.mcp_server.allowed_hosts == ("a",)
    assert (settings.deck.queue_limit, settings.deck.heartbeat_ms) == (5, 7)
    assert settings.storage.fsync == "never"
    assert settings.router.slots["cloud"].options.script == ("hello",)


@pytest.mark.parametrize("token", ["1" * 32, "1e" + "5" * 30, "[" + "x" * 40, "0" * 32])
def test_a_text_from_a_variable_is_taken_as_it_is_written(load: Load, token: str) -> None:
    digest = load(None, {"MEAD_DECK__TOKEN": token}).deck.token
    assert digest is not None
    assert digest.matches(token)


def test_null_brings_back_the_default(load: Load) -> None:
    toml = "[storage]\ndirectory = 'var'\nmax_turns = 3\n[router.slots.cloud]\nprovider = 'x'"
    environ = {
        "MEAD_STORAGE__DIRECTORY": "null",
        "MEAD_STORAGE__MAX_TURNS": "null",
        "MEAD_ROUTER__SLOTS__CLOUD": "null",
        "MEAD_DECK__QUEUE_LIMIT": "null",
    }
    assert load(toml, environ) == Settings()


def test_a_list_that_is_not_json_is_a_fault_with_its_position(faults: Faults) -> None:
    assert faults(None, {"MEAD_MCP_SERVER__ALLOWED_HOSTS": '["a", ]'}) == (
        "mcp_server.allowed_hosts (environment MEAD_MCP_SERVER__ALLOWED_HOSTS):"
        " found JSON that breaks off at line 1 column 7; allowed: a list of hosts",
    )


def test_a_plain_text_where_a_list_belongs_is_told_to_be_json(faults: Faults) -> None:
    (line,) = faults(None, {"MEAD_MCP_SERVER__ALLOWED_HOSTS": "a"})
    assert line.endswith("found a text; allowed: a list of hosts, written as JSON")


def test_a_variable_cannot_reach_into_a_list(faults: Faults) -> None:
    toml = '[[mcp.servers]]\nname = "a"\ntransport = "stdio"\ncommand = "c"'
    (line, *_) = faults(toml, {"MEAD_MCP__SERVERS__0__COMMAND": "d"})
    assert line == (
        "mcp.servers (mead.toml): found a list; environment MEAD_MCP__SERVERS__0__COMMAND needs a"
        " table there"
    )


def test_an_unknown_variable_is_a_fault(faults: Faults) -> None:
    key, section = faults(None, {"MEAD_DEK__TOKEN": "x" * 40, "MEAD_DECK__TOKN": "x" * 40})
    assert section.startswith("dek (environment MEAD_DEK__TOKEN): unknown key; did you mean deck?")
    assert key.startswith(
        "deck.tokn (environment MEAD_DECK__TOKN): unknown key; did you mean deck.token?"
    )


def test_one_underscore_where_two_belong_is_a_fault(faults: Faults) -> None:
    lines = faults(None, {"MEAD_DECK_TOKEN": "x", "MEAD_ROUTER_SLOTS_LOCAL_MODEL": "m"})
    assert lines == (
        "MEAD_DECK_TOKEN: unknown variable; did you mean MEAD_DECK__TOKEN?",
        "MEAD_ROUTER_SLOTS_LOCAL_MODEL: unknown variable;"
        " did you mean MEAD_ROUTER__SLOTS__LOCAL__MODEL?",
    )


def test_variables_that_a_platform_sets_by_itself_are_left_alone(load: Load) -> None:
    environ = {
        "MEAD_SERVICE_HOST": "10.0.0.7",
        "MEAD_PORT": "tcp://10.0.0.7:80",
        "MEAD_MCP_SERVER_PORT": "tcp://10.0.0.7:80",
        "MEAD": "x",
        "HOME": "/root",
    }
    assert load(None, environ) == Settings()


class Odd:
    """Neither table nor list, and no help."""

    def __getitem__(self, key: object) -> object:
        raise RuntimeError


# -- from Python -----------------------------------------------------------------------------------


def test_settings_built_in_code_read_no_file_and_no_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mead.toml").write_text("[deck]\nqueue_limit = 7")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEAD_DECK__QUEUE_LIMIT", "8")
    monkeypatch.setenv("PORT", "9")
    assert Settings.build({}) == Settings()


def test_settings_built_in_code_take_paths_tuples_and_references(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "t" * 32)
    settings = Settings.build(
        {
            "storage": {"directory": tmp_path},
            "mcp_server": {"allowed_hosts": ("a",)},
            "deck": {"token": "env:A_TOKEN"},
        }
    )
    assert settings.storage.directory == tmp_path
    assert settings.mcp_server.allowed_hosts == ("a",)
    assert settings.deck.token is not None
    assert settings.deck.token.matches("t" * 32)
    assert settings.sources["deck.token"] == "code, env:A_TOKEN"


def test_code_is_checked_like_a_file() -> None:
    assert refused([]) == ("code: found a list; allowed: a table",)
    assert refused({1: 2}) == (
        "code: found a key that is a number; allowed: tables with text keys",
    )
    endless: dict[str, object] = {}
    endless["deck"] = endless
    assert refused(endless) == (
        "code: found more than 32 levels of tables and lists; allowed: tables with text keys",
    )
    assert refused({"deck": object()}) == (
        "deck (code): found an object of type object; allowed: a table",
    )
    assert refused({"runtime": Odd(), "router": {"slots": Odd()}}) == (
        "runtime (code): found an object of type Odd; allowed: a table",
        "router.slots (code): found an object of type Odd; allowed: a table",
    )


def test_what_was_built_no_longer_follows_the_mapping_that_it_came_from() -> None:
    values = {"runtime": {"handlers": {"mine": "m:Mine"}}, "mcp_server": {"allowed_hosts": ["a"]}}
    settings = Settings.build(values)
    values["runtime"]["handlers"].clear()
    values["mcp_server"]["allowed_hosts"].clear()
    assert settings.runtime.handlers == {"mine": "m:Mine"}
    assert settings.mcp_server.allowed_hosts == ("a",)


def test_relative_paths_start_at_the_directory(load: Load, tmp_path: Path) -> None:
    settings = load("[storage]\ndirectory = 'var/mead'", {"HOME": "/nowhere"})
    assert settings.storage.directory == tmp_path / "var/mead"
