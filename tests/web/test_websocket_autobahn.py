"""The Autobahn cases (kosoku) against the engine under real gunicorn, plain and TLS.

Sections 12 and 13 are about compression, which is not offered.
"""

import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gevent
import pytest
from gevent.server import StreamServer
from gevent.socket import SHUT_WR, create_connection, socket

from tests.helpers.server import Server, running
from tests.web.conftest import TLS, with_tls

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

APP = "tests.helpers.sockets:app"
LONGEST = str(64 * 1_048_576)
"""Section 9 sends messages of up to 16 MiB."""

CASES = 301
RIGHT = {"OK", "INFORMATIONAL", "NON-STRICT"}


def judged(port: int, out: Path) -> dict[str, dict[str, str]]:
    """kosoku's verdict for each case."""
    command = [Path(sys.executable).with_name("kosoku"), "-x", "12.*", "-x", "13.*", "-p", "4"]
    command += ["-o", str(out), f"ws://127.0.0.1:{port}/echo"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (verdicts,) = json.loads((out / "index.json").read_text()).values()
    return verdicts


def wrong(verdicts: dict[str, dict[str, str]]) -> dict[str, tuple[str, str]]:
    found = {case: (one["behavior"], one["behaviorClose"]) for case, one in verdicts.items()}
    return {case: pair for case, pair in found.items() if not set(pair) <= RIGHT}


def not_strict(verdicts: dict[str, dict[str, str]]) -> set[str]:
    return {case for case, one in verdicts.items() if one["behavior"] == "NON-STRICT"}


def test_every_case_is_right_on_plain_connections(tmp_path):
    with running(Server(tmp_path, app=APP), TEST_MESSAGE_BYTES=LONGEST) as server:
        verdicts = judged(server.port, tmp_path / "out")
    assert len(verdicts) == CASES
    assert not wrong(verdicts)
    assert not_strict(verdicts) <= {"6.4.3", "6.4.4"}  # bad text in an unfinished frame


def test_every_case_is_right_over_tls(tmp_path):
    server = Server(tmp_path, with_tls("[mcp_server]\n"), app=APP, scheme="https")
    with running(server, TEST_MESSAGE_BYTES=LONGEST), tls_in_front_of(server.port) as port:
        verdicts = judged(port, tmp_path / "out")
    assert len(verdicts) == CASES
    assert not wrong(verdicts)
    assert not_strict(verdicts) <= {"6.4.3", "6.4.4"}


@contextmanager
def tls_in_front_of(port: int) -> Iterator[int]:
    """A plain port whose connections go on to `port` over TLS: kosoku speaks none."""
    context = ssl.create_default_context(cafile=TLS / "cert.pem")

    def serve(plain: socket, _: object) -> None:
        inner = create_connection(("127.0.0.1", port))
        with plain, context.wrap_socket(inner, server_hostname="localhost") as secure:
            there = gevent.spawn(pump, plain, secure)
            try:
                pump(secure, plain)
            finally:
                there.kill()

    front = StreamServer(("127.0.0.1", 0), serve)
    front.start()
    try:
        yield front.server_port
    finally:
        front.stop(timeout=1)


def pump(source: socket, sink: socket) -> None:
    """Carry everything; an end is passed on."""
    try:
        while data := source.recv(65_536):
            sink.sendall(data)
        if not isinstance(sink, ssl.SSLSocket):
            sink.shutdown(SHUT_WR)
    except OSError:
        pass
