"""The address that was checked is connected to, and its certificate is for the name."""

import pytest

from mead.errors import TurnFailed
from tests.helpers.replay_server import ReplayServer, answer
from tests.providers.http_calls import CERTIFICATE, body_of, client_of, fault_of, tls_server


def test_the_connection_goes_to_the_address_that_was_checked_and_keeps_the_name():
    with (
        ReplayServer(answer({})) as server,
        client_of(f"http://model.test:{server.port}/v1", resolve=lambda: "127.0.0.1") as client,
    ):
        assert client.host == f"model.test:{server.port}"
        body_of(client)
        assert server.seen[0].headers["host"] == f"model.test:{server.port}"
        assert client.host == f"127.0.0.1:{server.port}"


def test_the_address_is_asked_for_anew_with_every_request():
    asked = []

    def resolve():
        asked.append(1)
        return "127.0.0.1"

    with (
        ReplayServer(answer({})) as server,
        client_of(f"http://model.test:{server.port}", resolve=resolve) as client,
    ):
        body_of(client)
        body_of(client)
    assert len(asked) == 2


def test_a_check_that_refuses_ends_the_call_before_anything_is_sent():
    def resolve():
        raise TurnFailed("not_local", "elsewhere")

    with (
        ReplayServer(answer({})) as server,
        client_of(server.url, resolve=resolve, max_retries=2) as client,
    ):
        with pytest.raises(TurnFailed) as failed:
            body_of(client)
        assert failed.value.reason == "not_local"
        assert server.connections == 0


def test_an_ipv6_address_is_shown_in_brackets():
    with client_of("http://model.test:9", resolve=lambda: "::1") as client:
        fault_of(client)  # nobody listens there, or the machine has no IPv6
        assert client.host == "[::1]:9"


def test_a_pinned_tls_connection_asks_for_and_verifies_the_name():
    names = []
    with (
        tls_server(names) as server,
        client_of(
            f"https://model.test:{server.port}",
            resolve=lambda: "127.0.0.1",
            certificates=CERTIFICATE,
        ) as client,
    ):
        assert body_of(client) == b'{"ok": 1}'
    assert names == ["model.test"]


def test_a_certificate_for_another_name_is_refused_and_not_tried_again():
    names = []
    with (
        tls_server(names) as server,
        client_of(
            f"https://other.test:{server.port}",
            resolve=lambda: "127.0.0.1",
            certificates=CERTIFICATE,
            max_retries=2,
        ) as client,
    ):
        fault = fault_of(client)
        assert fault.reason == "provider_unavailable"
        assert "certificate" in fault.message
    assert names == ["other.test"]


def test_an_unknown_certificate_is_refused():
    with (
        tls_server([]) as server,
        client_of(f"https://model.test:{server.port}", resolve=lambda: "127.0.0.1") as client,
    ):
        assert "certificate" in fault_of(client).message
