"""One HTTP call of a provider, and what came of it."""

import ssl
from contextlib import contextmanager
from pathlib import Path

import pytest

from mead.providers.errors import ProviderFault
from mead.providers.http import Call, HttpClient
from tests.helpers.replay_server import ReplayServer, answer

CERTIFICATE = Path(__file__).parents[1] / "helpers" / "model_test.pem"

POST = Call("POST", "/chat", b'{"q": 1}', {"Content-Type": "application/json"})


@contextmanager
def client_of(url, **changes):
    client = HttpClient(url, **{"first_backoff_ms": 1, "max_retries": 0, **changes})
    try:
        yield client
    finally:
        client.close()


def body_of(client, call=POST):
    return client.run(call, lambda got: got.body())


def fault_of(client, read=lambda got: got.body()):
    with pytest.raises(ProviderFault) as raised:
        client.run(POST, read)
    return raised.value


def refuse(got):
    """What a provider does with an error status."""
    if got.status != 200:
        raise ProviderFault(
            "overloaded",
            retryable=got.status in (429, 529),
            retry_after_ms=got.retry_after_ms,
        )
    return got.body()


def tls_server(names):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    context.sni_callback = lambda _sock, name, _context: names.append(name)
    return ReplayServer(answer({"ok": 1}), tls=context)
