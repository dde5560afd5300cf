import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.server import Server, running, tokens_toml
from tests.helpers.waiting import eventually
from tests.web.rig import SMALL_BUFFER, Rig

TLS = Path(__file__).parents[1] / "data" / "tls"


@pytest.fixture(scope="session")
def certificate() -> Path:
    """Self-signed, for 127.0.0.1 and localhost."""
    return TLS / "cert.pem"


def with_tls(toml: str) -> str:
    return toml.replace(
        "[mcp_server]\n",
        f'[mcp_server]\ncertfile = "{TLS / "cert.pem"}"\nkeyfile = "{TLS / "key.pem"}"\n',
    )


QUICK = ("-k", "tests.helpers.quick_worker.QuickWorker")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A server whose deadlines are half a second."""
    server = Server(tmp_path_factory.mktemp("quick"), tokens_toml(), app="tests.helpers.probe:app")
    with running(server, *QUICK, PROBE_BODY_DEADLINE_MS="500"):
        yield server


@pytest.fixture
def rig() -> Iterator[Rig]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        client.connect(listener.getsockname())
        server, _ = listener.accept()
    rig = Rig(client, server)
    yield rig
    client.close()
    eventually(lambda: not rig.registered)
    eventually(lambda: len(rig.tasks) == 0)
    server.close()
