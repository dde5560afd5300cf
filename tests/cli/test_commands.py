"""`flask mead ...` as its user runs it: real files, a real runtime, real output."""

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mead import Mead
from mead.config import Settings
from mead.errors import SessionNotFound
from mead.turn import Turn
from wsgi import create_app

Run = Callable[..., Result]


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    """The settings of the test; a test may change them before its first command."""
    return {
        "storage": {"directory": str(tmp_path / "var")},
        "router": {
            "slots": {
                "local": {
                    "provider": "scripted",
                    "model": "script",
                    "script": [{"text": "Hello from the script."}],
                }
            }
        },
    }


@pytest.fixture
def run(tree: dict[str, Any]) -> Run:
    """Run a command in a process of its own runtime, as `flask mead ARGUMENTS`."""

    def run(*arguments: str, stdin: str | None = None) -> Result:
        app = create_app(Settings.build(tree))
        runner = app.test_cli_runner()
        return runner.invoke(args=["mead", *arguments], input=stdin, catch_exceptions=False)

    return run


@pytest.fixture
def served(tree: dict[str, Any]) -> Iterator[Mead]:
    """A running Mead that holds the directory, so that commands go through its control socket."""
    with Mead(tree) as mead:
        yield mead


def test_ask_answers_and_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    result = run("ask", "Say hello")
    assert result.exit_code == 0
    assert result.stdout == "Hello from the script.\n"
    assert "[local] script" in result.stderr
    assert list((tmp_path / "var").glob("*.log")) == []


def test_ask_as_json_has_the_whole_turn(run: Run) -> None:
    shown = json.loads(run("ask", "Say hello", "--json").stdout)
    assert shown["output"] == "Hello from the script."
    turn = Turn.decode(shown["turn"])
    assert (turn.facts.route, turn.facts.provider) == ("local", "scripted")


def test_ask_goes_through_the_running_mead(run: Run, served: Mead) -> None:
    assert run("ask", "Say hello").stdout == "Hello from the script.\n"
    assert served.usage()["totals"]["turns"] == 1


def test_an_empty_slot_is_an_error_with_its_code(run: Run) -> None:
    result = run("ask", "Explain why", "--route", "cloud")
    assert result.exit_code == 1
    assert "\ncloud_unavailable: no model fills the slot cloud" in result.stderr
    assert "Traceback" not in result.output


def test_an_empty_question_is_refused(run: Run) -> None:
    result = run("ask", "  ")
    assert result.exit_code == 1
    assert result.stderr.startswith("invalid_input: ")


def test_chat_talks_until_the_input_ends_and_keeps_the_conversation(run: Run) -> None:
    result = run("chat", stdin="one\n\ntwo\n")
    assert result.exit_code == 0
    assert result.stdout.count("Hello from the script.") == 2
    (entry,) = json.loads(run("sessions", "list", "--json").stdout)
    session_id = entry["session_id"]
    turns = json.loads(run("sessions", "history", session_id, "--json").stdout)
    assert [turn["input"] for turn in turns] == ["one", "two"]
    again = run("chat", session_id, stdin="three\n")
    assert session_id in again.stderr
    shown = json.loads(run("sessions", "show", session_id, "--json").stdout)
    assert (shown["turns"], shown["last_status"]) == (3, "completed")


def test_chat_in_an_unknown_session_says_so(run: Run) -> None:
    result = run("chat", "0a0b0c0d-0000-4000-8000-000000000001")
    assert result.exit_code == 1
    assert result.stderr.startswith("not_found: ")


def test_chat_says_why_a_turn_failed_and_goes_on(run: Run, tree: dict[str, Any]) -> None:
    tree["router"]["slots"]["local"]["script"] = [{"error": "overloaded"}]
    result = run("chat", stdin="one\ntwo\n")
    assert result.exit_code == 0
    assert result.stderr.count("overloaded: ") == 2


def test_a_conversation_is_stopped_resumed_compacted_exported_and_deleted(
    run: Run, served: Mead, tmp_path: Path
) -> None:
    session_id = served.start_session()
    served.submit_turn(session_id, "question")
    assert run("sessions", "stop", session_id).exit_code == 0
    assert "stopped" in run("sessions", "list").stdout
    again = run("sessions", "stop", session_id)
    assert again.exit_code == 1
    assert again.stderr.startswith("not_found: it does not run: it is stored, and stopped;")
    unknown = run("sessions", "stop", "00000000-0000-4000-8000-000000000000")
    assert unknown.exit_code == 1
    assert "stored" not in unknown.stderr
    assert run("sessions", "resume", session_id).stdout.strip() == session_id
    assert "running" in run("sessions", "list").stdout
    sizes = json.loads(run("sessions", "compact", session_id, "--json").stdout)
    assert sizes["bytes_after"] <= sizes["bytes_before"]
    (line,) = run("sessions", "export", session_id).stdout.splitlines()
    assert json.loads(line)["input"] == "question"
    target = tmp_path / "conversation.md"
    arguments = ("sessions", "export", session_id, "--format", "markdown", "--output", str(target))
    assert run(*arguments).exit_code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert "question" in target.read_text()
    assert run(*arguments).exit_code == 1  # never over an existing file
    assert run("sessions", "delete", session_id, stdin="n\n").exit_code == 1
    assert len(served.list_sessions()) == 1
    assert run("sessions", "delete", session_id, "--yes").exit_code == 0
    assert served.list_sessions() == []


def test_a_damaged_conversation_is_repaired_and_its_file_kept(
    run: Run, tree: dict[str, Any], tmp_path: Path
) -> None:
    with Mead(tree) as mead:
        session_id = mead.start_session()
        for number in range(3):
            mead.submit_turn(session_id, f"question {number}")
    path = tmp_path / "var" / f"{session_id}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    damaged = run("sessions", "history", session_id)
    assert damaged.stderr.startswith("corrupt_history: ")
    assert "repair" in damaged.stderr
    report = json.loads(run("sessions", "repair", session_id, "--json").stdout)
    assert 0 < report["turns"] < 3
    turns = json.loads(run("sessions", "history", session_id, "--json").stdout)
    assert len(turns) == report["turns"]
    (kept,) = path.parent.glob(f"{session_id}.log.damaged-*")
    assert kept.read_bytes() == data


def test_usage_shows_what_was_spent(run: Run, served: Mead) -> None:
    served.submit_turn(served.start_session(), "question")
    shown = json.loads(run("usage", "--json").stdout)
    assert shown["totals"]["turns"] == 1
    text = run("usage").stdout
    assert "scripted" in text
    assert "local" in text


def test_doctor_is_content_with_a_good_directory(run: Run) -> None:
    result = run("doctor", "--json")
    checks = json.loads(result.stdout)
    areas = {check["area"]: check["ok"] for check in checks}
    assert areas["storage"]
    assert areas["slot local (scripted)"]


def test_the_list_shows_what_the_first_prompt_was(run: Run) -> None:
    run("chat", stdin="How is\tthe   weather?\nAnd tomorrow?\n")
    (entry,) = json.loads(run("sessions", "list", "--json").stdout)
    assert entry["title"] == "How is the weather?"
    assert "stopped  How is the weather?\n" in run("sessions", "list").stdout
    run("chat", entry["session_id"], stdin="Something else\n")
    shown = json.loads(run("sessions", "show", entry["session_id"], "--json").stdout)
    assert (shown["title"], shown["turns"]) == ("How is the weather?", 3)


def test_the_list_shows_a_name_that_was_given_and_cuts_a_long_one(run: Run, served: Mead) -> None:
    session_id = served.start_session()
    assert f"{session_id}  " in run("sessions", "list").stdout
    served.set_title(session_id, "x" * 100)
    assert f"running  {'x' * 59}…\n" in run("sessions", "list").stdout


def test_a_title_cannot_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    run("chat", stdin="one\n")
    (title,) = (tmp_path / "var").glob("*.title")
    title.write_text("\x1b]0;mine\x07\nsession")
    for command in (["list"], ["show", title.stem]):
        shown = run("sessions", *command).stdout
        assert "]0;mine session\n" in shown
        assert "\x1b" not in shown


# -- by the beginning of its id --------------------------------------------------------------------


def test_every_command_takes_the_beginning_of_an_id(run: Run, served: Mead) -> None:
    session_id = served.start_session()
    served.submit_turn(session_id, "question")
    short = session_id[:8]
    assert json.loads(run("sessions", "show", short, "--json").stdout)["session_id"] == session_id
    assert "question" in run("sessions", "history", short).stdout
    assert "question" in run("sessions", "export", short).stdout
    assert run("sessions", "compact", short).exit_code == 0
    assert run("sessions", "stop", short).exit_code == 0
    assert run("sessions", "repair", short).exit_code == 0
    assert run("sessions", "resume", short).stdout.strip() == session_id
    assert session_id in run("chat", short, stdin="").stderr
    asked = run("sessions", "delete", short, stdin="y\n")
    assert f"Delete {session_id} for good?" in asked.stdout
    assert served.list_sessions() == []


def test_a_beginning_that_is_too_short_or_of_several_or_of_none_is_refused(
    run: Run, tree: dict[str, Any], tmp_path: Path
) -> None:
    ids = [f"abcd000{number}-0000-4000-8000-000000000000" for number in range(7)]
    (tmp_path / "var").mkdir(mode=0o700)
    for session_id in ids:
        (tmp_path / "var" / f"{session_id}.log").touch()
    assert run("sessions", "delete", "abc", "--yes").stderr.startswith("not_found: name a")
    several = run("sessions", "delete", "abcd", "--yes").stderr
    assert several.startswith("invalid_input: 7 conversations begin like that: abcd000")
    assert several.count("-4000-") == 5
    assert run("sessions", "delete", "ABCD0001", "--yes").stderr.startswith("not_found: ")
    assert run("sessions", "delete", "bcd0001", "--yes").stderr.startswith("not_found: ")
    assert len(list((tmp_path / "var").glob("*.log"))) == 7
    assert run("sessions", "delete", "abcd0001", "--yes").exit_code == 0
    assert not (tmp_path / "var" / f"{ids[1]}.log").exists()


def test_the_library_takes_no_beginning(served: Mead) -> None:
    session_id = served.start_session()
    with pytest.raises(SessionNotFound):
        served.history(session_id[:8])
    with pytest.raises(SessionNotFound):
        served.set_title(session_id[:8], "mine")


def test_doctor_says_how_to_get_ollama_going(run: Run, tree: dict[str, Any]) -> None:
    here = {"provider": "ollama", "model": "llama3.2:3b", "base_url": "http://127.0.0.1:9"}
    tree["router"]["slots"] = {"local": here, "cloud": {**here, "max_retries": 0}}
    advice = "; start Ollama (`ollama serve`), then `ollama pull llama3.2:3b`"
    shown = run("doctor").stdout
    assert f"slot local (ollama): nothing answers at 127.0.0.1:9 at the moment{advice}" in shown
    assert f"slot cloud (ollama): 127.0.0.1:9 could not be reached{advice}" in shown
    for route in ("local", "cloud"):
        failed = run("ask", "Say hello", "--route", route)
        assert f"127.0.0.1:9 could not be reached{advice}\n" in failed.stderr


def test_doctor_says_what_to_do(run: Run, tree: dict[str, Any]) -> None:
    tree["router"]["slots"]["local"] = {
        "provider": "ollama",
        "model": "m",
        "base_url": "http://127.0.0.1:9",
    }
    result = run("doctor")
    assert result.exit_code == 1
    assert "FIX" in result.stdout
    assert "127.0.0.1:9" in result.stdout


def test_unusable_settings_end_every_command_with_their_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[runtime]\nturn_timeout = 5\n")
    monkeypatch.setenv("MEAD_CONFIG", str(path))
    runner = create_app().test_cli_runner()
    for arguments in (["ask", "x"], ["doctor"], ["sessions", "list"], ["usage"]):
        result = runner.invoke(args=["mead", *arguments], catch_exceptions=False)
        assert result.exit_code == 2
        assert "runtime.turn_timeout" in result.stderr
        assert "turn_timeout_ms" in result.stderr


def test_a_models_escape_sequences_do_not_reach_the_terminal(
    run: Run, tree: dict[str, Any]
) -> None:
    tree["router"]["slots"]["local"]["script"] = [
        {"text": "\x1b]0;owned\x07red \x1b[31m\x9b1m \x00"}
    ]
    asked = run("ask", "Say hello").stdout
    run("chat", stdin="one\n")
    (entry,) = json.loads(run("sessions", "list", "--json").stdout)
    shown = run("sessions", "history", entry["session_id"]).stdout
    for text in (asked, shown):
        assert "\\x1b]0;owned\\x07red" in text
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\x00"}


def test_route_obeys_the_default_route(run: Run) -> None:
    shown = run("route", "Explain why the sky is blue").stdout
    assert shown.startswith("local: runtime.default_route")
    assert "cloud: asks for reasoning" in shown


def test_an_answer_that_was_cut_is_told_by_ask_chat_history_and_show(
    run: Run, tree: dict[str, Any]
) -> None:
    script = [{"text": "half a word", "stop_reason": "max_tokens"}]
    tree["router"]["slots"]["local"]["script"] = script
    told = "[cut: it reached the slot's max_tokens; ask the model to go on, or raise it]\n"
    asked = run("ask", "Say hello")
    assert (asked.stdout, told in asked.stderr) == ("half a word\n", True)
    assert told in run("chat", stdin="Say hello\n").stderr
    (entry,) = json.loads(run("sessions", "list", "--json").stdout)
    shown = run("sessions", "history", entry["session_id"]).stdout
    assert f"half a word\n{told}" in shown
    assert told in run("sessions", "show", entry["session_id"]).stdout
    summary = json.loads(run("sessions", "show", entry["session_id"], "--json").stdout)
    assert summary["last_stop_reason"] == "max_tokens"


def test_an_answer_that_ended_by_itself_is_not_called_cut(run: Run) -> None:
    assert "cut" not in run("chat", stdin="Say hello\n").stderr
    (entry,) = json.loads(run("sessions", "list", "--json").stdout)
    for command in ("history", "show"):
        assert "cut" not in run("sessions", command, entry["session_id"]).stdout
