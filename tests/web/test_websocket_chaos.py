"""Clients that do anything at all, many at once; afterwards nothing of them is left."""

import os
import random
import socket

import gevent
import pytest
from gevent.pool import Pool

from tests.helpers.raw_websocket import (
    BINARY,
    CONT,
    PING,
    TEXT,
    RawClient,
    close,
    masked,
)
from tests.helpers.server import Server, running
from tests.helpers.waiting import eventually
from tests.web.conftest import TLS, with_tls

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

AT_ONCE = 25


class Wild:
    """One client with a will of its own."""

    def __init__(self, dice: random.Random, server: Server) -> None:
        self.dice = dice
        ca = TLS / "cert.pem" if server.scheme == "https" else None
        path = dice.choice(["/echo", "/listen", "/bug"])
        self.client = RawClient.connect(server.port, path, ca=ca, buffer=dice.choice([0, 2048]))

    def live(self) -> None:
        """A few acts, then its end, gentle or not."""
        acts = [self.say, self.ping, self.begin, self.go_on, self.stop_short, self.babble]
        acts += [self.part, self.lie, self.look, self.listen]
        try:
            for _ in range(self.dice.randrange(12)):
                self.dice.choice(acts)()
        except (OSError, EOFError):
            pass  # the server has had enough of it
        finally:
            if self.dice.random() < 0.3:
                reset = b"\1\0\0\0\0\0\0\0"
                self.client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            self.client.connection.close()

    def say(self) -> None:
        self.client.send(masked(TEXT, b"x" * self.dice.randrange(200_000)))

    def ping(self) -> None:
        self.client.send(masked(PING, b"p" * 20) * self.dice.randrange(300))

    def begin(self) -> None:
        self.client.send(masked(TEXT, b"a", fin=False))

    def go_on(self) -> None:
        self.client.send(masked(CONT, b"b", fin=self.dice.random() < 0.5))

    def stop_short(self) -> None:
        self.client.send(masked(BINARY, b"c" * 5000)[: self.dice.randrange(1, 5000)])

    def babble(self) -> None:
        self.client.send(os.urandom(self.dice.randrange(1, 50)))

    def part(self) -> None:
        self.client.send(close(self.dice.choice([1000, 1001, 1006, 4000])))

    def lie(self) -> None:
        self.client.send(masked(TEXT, b"\xff" * 10))

    def look(self) -> None:
        with gevent.Timeout(0.2, False):
            for _ in range(50):
                self.client.receive()

    def listen(self) -> None:
        with gevent.Timeout(1, False):
            self.client.receive_rest()


@pytest.mark.parametrize(
    "clients", [50, pytest.param(2000, marks=[pytest.mark.stress, pytest.mark.timeout(600)])]
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_wild_clients_leave_nothing_behind(tmp_path, scheme, clients):
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    dice = random.Random(seed)
    toml = "[mcp_server]\n" if scheme == "http" else with_tls("[mcp_server]\n")
    with running(Server(tmp_path, toml, app="tests.helpers.sockets:app", scheme=scheme)) as server:
        verify = True if scheme == "http" else str(TLS / "cert.pem")
        before = server.get("/held", verify=verify).json()
        pool = Pool(AT_ONCE)
        for number in range(clients):
            pool.spawn(lambda: Wild(dice, server).live())
            if number % 25 == 0:
                server.get("/broadcast?count=1000&size=300", verify=verify)
        pool.join(30)
        eventually(lambda: server.get("/held", verify=verify).json() == before)
        assert server.stop() == 0
        assert "Traceback" not in server.log
        assert "a bug in sending" not in server.log
