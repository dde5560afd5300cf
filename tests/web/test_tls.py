"""HTTPS on the one port."""

import os
import signal
import ssl

import pytest

from tests.helpers.server import Server, receive_all, receive_answer, running
from tests.web.conftest import QUICK, TLS, with_tls

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

ASK = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    toml = with_tls("[mcp_server]\nmaximum_connections = 3\n")
    server = Server(
        tmp_path_factory.mktemp("tls"), toml, app="tests.helpers.probe:app", scheme="https"
    )
    with running(server, *QUICK):
        yield server


def test_the_one_port_speaks_https(secure, certificate):
    assert secure.get("/readyz", verify=str(certificate)).json() == {"ready": True}


def test_plain_http_gets_nothing(secure):
    with secure.connect() as plain:
        plain.sendall(ASK)
        assert b"HTTP" not in receive_all(plain)


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1"])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_a_protocol_that_can_be_broken_is_not_spoken(secure, version):
    """What somebody on the way could talk both ends down to."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion[version]
    context.maximum_version = ssl.TLSVersion[version]
    with secure.connect() as plain, pytest.raises(ssl.SSLError) as refused:
        context.wrap_socket(plain)
    assert refused.value.reason == "TLSV1_ALERT_PROTOCOL_VERSION"


def test_a_client_that_never_shakes_hands_is_cut(secure):
    with secure.connect() as silent:
        assert receive_all(silent) == b""


def test_an_outgoing_https_request_from_the_worker_works(secure, certificate):
    asked = {"url": secure.url("/readyz"), "ca": str(certificate)}
    answer = secure.get("/probe/outgoing", params=asked, verify=str(certificate))
    assert answer.json() == {"status": 200, "body": {"ready": True}}


def test_a_connection_without_room_is_closed(tmp_path, certificate):
    toml = with_tls("[mcp_server]\nmaximum_connections = 1\n")
    with running(Server(tmp_path, toml, scheme="https")) as server:
        context = ssl.create_default_context(cafile=certificate)
        with (
            server.connect() as plain,
            context.wrap_socket(plain, server_hostname="localhost") as holder,
        ):
            holder.sendall(ASK)
            assert receive_answer(holder).startswith(b"HTTP/1.1 200")
            with server.connect() as one_more:
                assert receive_all(one_more) == b""
            server.signal(signal.SIGTERM)
            assert holder.recv(4096) == b""
        assert server.end() == 0
        assert "bug" not in server.log


@pytest.mark.parametrize(
    ("keyfile", "said"),
    [
        ("other-key.pem", "mcp_server.keyfile"),
        ("cert.pem", "mcp_server.keyfile"),
    ],
)
def test_a_certificate_that_cannot_be_used_ends_the_start(tmp_path, keyfile, said):
    toml = with_tls("[mcp_server]\n").replace("key.pem", keyfile)
    server = Server(tmp_path, toml)
    try:
        server.start()
        assert server.end() == os.EX_CONFIG
        assert server.says(said)
        assert len(server.lines) == 1
    finally:
        server.destroy()


def test_a_certificate_that_breaks_later_changes_nothing(tmp_path):
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_bytes((TLS / name).read_bytes())
    toml = with_tls("[mcp_server]\n").replace(str(TLS), str(tmp_path))
    with running(Server(tmp_path, toml, scheme="https")) as server:
        (tmp_path / "cert.pem").write_text("half a certif")
        workers = server.workers()
        server.signal(signal.SIGHUP)
        server.expect("The settings are not used")
        assert server.workers() == workers
        assert server.get("/readyz", verify=str(TLS / "cert.pem")).status_code == 200
        os.kill(workers[0], signal.SIGKILL)
        server.ready(times=2)
        assert server.get("/readyz", verify=str(TLS / "cert.pem")).status_code == 200
