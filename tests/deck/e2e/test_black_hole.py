"""A device whose packets are lost, both ways and without a word, as of a phone out of reach."""

import gevent
import pytest

from tests.deck.e2e.client import Client, ask, connections, text_of
from tests.deck.e2e.conftest import deck_toml
from tests.helpers import namespaces
from tests.helpers.namespaces import inside
from tests.helpers.server import Server

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(60),
    pytest.mark.skipif(namespaces.missing() is not None, reason=str(namespaces.missing())),
]


@pytest.fixture
def network(tmp_path):
    """A server on a machine of its own, the wire of a device that will be lost, and another's."""
    listener = 'address = "0.0.0.0"'
    toml = deck_toml(tmp_path / "store", listener=listener, heartbeat_ms=200, idle_timeout_ms=2000)
    server = Server(tmp_path, toml)
    with namespaces.star(2) as (machine, wires):
        try:
            with inside(machine):
                server.start()
            yield server.ready(), *wires
        finally:
            server.destroy()


def test_a_device_in_a_black_hole_is_given_up_and_its_replacement_lacks_nothing(network):
    server, lost_wire, good_wire = network
    server.host = lost_wire.server_address
    with inside(lost_wire.namespace), Client(server).come() as lost:
        lost.send("stream 500 10")
        while len(lost.of("text.delta")) < 5:
            lost.receive()
        lost_wire.swallow()
        server.host = good_wire.server_address
        with inside(good_wire.namespace), Client(server, lost.session_id, "desk").come() as desk:
            assert connections(server) == 3
            while connections(server) == 3:  # and the lost one can have told the server nothing
                desk.hear("heartbeat")
            assert _hears_nothing(lost)
            with Client(server, lost.session_id) as replacement:
                replacement.events, replacement.log_id = list(lost.events), lost.log_id
                replacement.come()
                assert not replacement.snapshot["reset"]
                assert not replacement.snapshot["gap"]
                listening = gevent.spawn(desk.hear_end)  # who does not listen answers no ping
                assert replacement.hear_end() == listening.get(timeout=30)
                assert replacement.ask("and on", "m2") == "and on"
            turns = ask(server, "GET", f"sessions/{lost.session_id}/history").json()["turns"]
    assert [turn["output"] for turn in turns] == [text_of(desk.events), "and on"]
    assert len(lost.events) < len(desk.events)


def _hears_nothing(device: Client) -> bool:
    """What had come before the hole is read; then neither an end nor a reset follows."""
    connection = device.socket.connection
    connection.settimeout(0)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return True
    return False
