"""`mead.deck.client` against a real server: patched and unpatched, over restarts."""

import signal
import subprocess
import sys

import pytest

from mead.deck.client import DeckClient
from mead.deck.client_errors import DeckClosed, DeckRefused
from tests.helpers.server import DECK_TOKEN, ROOT, Server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


def client(server: Server, session_id: str | None = None) -> DeckClient:
    return DeckClient(server.url(""), DECK_TOKEN, session_id=session_id, device_id="program")


def hear_out(deck: DeckClient, turns: int = 1) -> list[dict]:
    """The messages up to the end of so many turns."""
    heard: list[dict] = []
    for message in deck.messages():
        heard.append(message)
        turns -= message["payload"].get("name") == "tokens_out"
        if not turns:
            return heard
    raise AssertionError("the conversation is gone")


def text_of(messages: list[dict]) -> str:
    return "".join(m["payload"]["text"] for m in messages if m["type"] == "text.delta")


def test_a_prompt_is_answered(server):
    with client(server) as deck:
        deck.send_prompt("stream 20 1")
        heard = hear_out(deck)
    assert text_of(heard) == "".join(f"{number} " for number in range(20))
    assert heard[0]["payload"]["device_id"] == "program"


def test_a_new_client_of_the_same_conversation_hears_it_all(server):
    with client(server) as first:
        first.send_prompt("hello")
        heard = hear_out(first)
    with client(server, first.session_id) as second:
        assert [m for m in hear_out(second) if "sequence" in m] == heard


def test_what_was_seen_is_not_given_again(server):
    with client(server) as deck:
        deck.send_prompt("one")
        hear_out(deck)
        seen = deck.last_sequence
        deck.connect()
        assert deck.snapshot["last_sequence"] == seen
        deck.send_prompt("two")
        assert hear_out(deck)[0]["sequence"] == seen + 1


def test_a_wrong_token_is_refused(server):
    with pytest.raises(DeckRefused) as refused, DeckClient(server.url(""), "x" * 40):
        pass
    assert (refused.value.status, refused.value.code) == (401, "unauthorized")


def test_a_conversation_that_is_not_there_is_refused(server):
    with pytest.raises(DeckRefused) as refused:
        client(server, "11111111-1111-4111-8111-111111111111").connect()
    assert refused.value.status == 404


def test_the_end_of_a_conversation_ends_the_messages(make_server):
    server = make_server(stored=False)
    with client(server) as deck:
        deck.send_prompt("hi")
        hear_out(deck)
        key = {"Authorization": f"Bearer {DECK_TOKEN}"}
        server.request("DELETE", f"/deck/sessions/{deck.session_id}", headers=key)
        assert list(deck.messages()) == []
        with pytest.raises(DeckClosed) as closed:
            deck.receive()
        assert closed.value.code == 4404


def test_a_client_outlives_a_killed_server_and_its_prompts_run_once(make_server):
    server = make_server()
    with client(server) as deck:
        deck.send_prompt("stream 2000 5")
        heard: list[dict] = []
        for message in deck.messages():
            heard.append(message)
            if message["type"] == "text.delta":
                break
        restart(server)
        prompt = deck.send_prompt("after")
        heard += hear_out(deck, 2)
    events = [message for message in heard if "sequence" in message]
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    failed = [e["payload"]["reason"] for e in events if e["type"] == "turn.failed"]
    assert failed == ["interrupted"]
    accepted = [e["payload"] for e in events if e["type"] == "prompt.accepted"]
    assert [each["client_message_id"] for each in accepted].count(prompt) == 1
    assert text_of(events).endswith("after")


def restart(server: Server) -> None:
    """Kill the worker; its master starts another."""
    ready = server.log.count("Mead is ready")
    for pid in server.workers():
        subprocess.run(["kill", f"-{signal.SIGKILL.value}", str(pid)], check=True)
    server.ready(ready + 1)


UNPATCHED = """
import sys, threading
from mead.deck.client import DeckClient
assert "gevent" not in type(threading.Lock()).__module__
with DeckClient(sys.argv[1], sys.argv[2]) as deck:
    deck.send_prompt("hello")
    for message in deck.messages():
        if message["type"] == "text.delta":
            print(message["payload"]["text"])
        if message["payload"].get("name") == "tokens_out":
            break
"""


def run(program: str, server: Server) -> tuple[int, str, str]:
    """Status, output and errors of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program, server.url(""), DECK_TOKEN],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_it_works_in_a_process_that_gevent_has_not_patched(server):
    assert run(UNPATCHED, server) == (0, "hello\n", "")


PATCHED = """
from gevent import monkey
monkey.patch_all()
"""

HEEDLESS = """
import sys
from mead.deck.client import DeckClient
from mead.deck.client_errors import DeckClosed
from mead.ids import new_uuid
deck = DeckClient(sys.argv[1], sys.argv[2])
for _ in range(3):
    deck.connect()
    try:
        for _ in range(4000):
            deck.say("turn.cancel", turn_id=new_uuid())
    except DeckClosed:
        pass
deck.connect()
for _ in range(10):
    deck.say("turn.cancel", turn_id=new_uuid())
    deck.receive(5)
    deck.connect()
deck.close()
print("left")
"""


@pytest.mark.parametrize("before", ["", PATCHED], ids=["unpatched", "patched"])
def test_who_sends_much_and_reads_little_leaves_in_peace(server, before):
    assert run(before + HEEDLESS, server) == (0, "left\n", "")
