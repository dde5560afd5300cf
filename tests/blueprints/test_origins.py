import pytest

from blueprints.origins import Authority, Origins, Sender, parse_authority
from mead.config import McpServerSettings


def origins(**listener) -> Origins:
    return Origins(McpServerSettings(**listener))


def sent(host: str | None, scheme: str | None = None) -> Sender:
    return Sender(address="127.0.0.1", host=host, scheme=scheme)


# -- reading hosts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "authority"),
    [
        ("localhost", Authority("localhost", None)),
        ("LocalHost:4040", Authority("localhost", 4040)),
        ("localhost.", Authority("localhost", None)),
        ("[::1]:4040", Authority("::1", 4040)),
        ("[::1]", Authority("::1", None)),
        ("xn--bcher-kva.example", Authority("xn--bcher-kva.example", None)),
        ("my_host", Authority("my_host", None)),
    ],
)
def test_a_host_is_read_with_its_port(text, authority):
    assert parse_authority(text) == authority


@pytest.mark.parametrize(
    "text",
    [None, "", ":80", "a b", "a/b", "user@host", "host:", "host:x", "::1", "[::1", "host:123456",
     "a,b", "localhost\n", "\uff4cocalhost"],
)  # fmt: skip
def test_what_is_no_host_is_none(text):
    assert parse_authority(text) is None


# -- Host ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1", "127.0.0.1:4040", "127.9.9.9", "[::1]:4040", "LOCALHOST."]
)
def test_a_loopback_bind_takes_loopback_names(host):
    assert origins().host_is_allowed(sent(host))
    assert origins(address="::1").host_is_allowed(sent(host))


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "0.0.0.0", "192.168.1.1", "127.0.0.1.evil.example",
     "", None, "localhost/x", "2130706433", "0x7f.1"],
)  # fmt: skip
def test_a_loopback_bind_takes_no_other_name(host):
    assert not origins().host_is_allowed(sent(host))


def test_a_loopback_bind_also_takes_the_listed_names():
    rules = origins(allowed_hosts=("mead.example", "other.example:8443"))
    assert rules.host_is_allowed(sent("mead.example"))
    assert rules.host_is_allowed(sent("mead.example:1234"))
    assert rules.host_is_allowed(sent("other.example:8443"))
    assert not rules.host_is_allowed(sent("other.example"))
    assert not rules.host_is_allowed(sent("third.example"))
    assert rules.host_is_allowed(sent("localhost"))


@pytest.mark.parametrize("host", ["anything.example", None, "10.0.0.1:80"])
def test_another_bind_takes_any_name(host):
    assert origins(address="0.0.0.0").host_is_allowed(sent(host))


def test_another_bind_with_listed_names_takes_those_alone():
    rules = origins(address="0.0.0.0", allowed_hosts=("mead.example", "::1"))
    assert rules.host_is_allowed(sent("mead.example"))
    assert rules.host_is_allowed(sent("[::1]:80"))
    assert not rules.host_is_allowed(sent("evil.example"))
    assert not rules.host_is_allowed(sent("localhost"))
    assert not rules.host_is_allowed(sent(None))


@pytest.mark.parametrize(
    ("scheme", "port", "allowed"),
    [("https", 443, True), ("https", 80, False), ("http", 80, True), (None, 443, True),
     (None, 80, True), (None, 8443, False)],
)  # fmt: skip
def test_a_host_without_port_means_the_default_port_of_the_scheme(scheme, port, allowed):
    rules = origins(address="0.0.0.0", allowed_hosts=(f"mead.example:{port}",))
    assert rules.host_is_allowed(sent("mead.example", scheme)) is allowed


# -- Origin ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, "localhost:4040"),
        ("http://localhost:4040", "localhost:4040"),
        ("https://localhost:4040", "localhost:4040"),  # TLS may end at a proxy that is not ours
        ("https://mead.example", "mead.example"),
        ("https://mead.example", "mead.example:443"),
        ("http://mead.example", "mead.example:80"),
        ("https://mead.example:443", "mead.example"),
        ("http://[::1]:4040", "[::1]:4040"),
        ("HTTP://LocalHost:4040", "localhost:4040"),
    ],
)
def test_the_page_of_this_server_may_ask(origin, host):
    assert origins().origin_is_allowed(origin, sent(host))


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("null", "localhost:4040"),
        ("NULL", "null"),
        ("", "localhost:4040"),
        ("http://localhost:3000", "localhost:4040"),
        ("http://localhost", "localhost:4040"),
        ("http://evil.example:4040", "localhost:4040"),
        ("https://mead.example", "mead.example:80"),
        ("http://localhost:4040/", "localhost:4040"),
        ("http://localhost:4040 http://evil.example", "localhost:4040"),
        ("http://localhost:4040, http://evil.example", "localhost:4040"),
        ("http://user@localhost:4040", "localhost:4040"),
        ("file://", "localhost:4040"),
        ("localhost:4040", "localhost:4040"),
        ("http://localhost:4040", None),
        ("chrome-extension://abc", "abc:80"),
    ],
)
def test_the_page_of_another_server_may_not_ask(origin, host):
    assert not origins().origin_is_allowed(origin, sent(host))


def test_a_listed_origin_may_ask_whatever_the_host():
    rules = origins(allowed_origins=("https://app.example", "http://localhost:3000"))
    assert rules.origin_is_allowed("https://app.example", sent("localhost:4040", "http"))
    assert rules.origin_is_allowed("https://app.example:443", sent("localhost:4040"))
    assert rules.origin_is_allowed("http://localhost:3000", sent("localhost:4040"))
    assert not rules.origin_is_allowed("http://app.example", sent("localhost:4040"))
    assert not rules.origin_is_allowed("null", sent("localhost:4040"))


def test_the_scheme_counts_where_it_is_known():
    rules = origins()
    assert rules.origin_is_allowed("https://mead.example:1", sent("mead.example:1", "https"))
    assert not rules.origin_is_allowed("http://mead.example:1", sent("mead.example:1", "https"))


# -- proxies ---------------------------------------------------------------------------------------

FORWARDED = {
    "Host": "inner:4040",
    "X-Forwarded-Host": "forged.example, mead.example",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "1.2.3.4, 203.0.113.9, 10.1.1.1",
}


def test_nobody_is_believed_without_trusted_proxies():
    assert origins().sender("10.0.0.1", FORWARDED) == Sender(
        address="10.0.0.1", host="inner:4040", scheme=None
    )


def test_a_trusted_proxy_is_believed_up_to_the_first_stranger():
    rules = origins(trusted_proxies=("10.0.0.0/8",))
    assert rules.sender("10.0.0.1", FORWARDED) == Sender(
        address="203.0.113.9", host="mead.example", scheme="https"
    )
    assert rules.sender("11.0.0.1", FORWARDED).address == "11.0.0.1"


def test_a_trusted_proxy_that_says_nothing_is_the_client():
    rules = origins(trusted_proxies=("10.0.0.1",))
    assert rules.sender("10.0.0.1", {"Host": "a"}) == Sender(
        address="10.0.0.1", host="a", scheme=None
    )


@pytest.mark.parametrize(
    "text", ["unknown", "_hidden", "", "203.0.113.9:4711", "fe80::1%\x1b[2J", "fe80::1%a\u202eb"]
)
def test_an_address_that_cannot_be_read_leaves_the_proxy_as_the_client(text):
    rules = origins(trusted_proxies=("10.0.0.1",))
    assert rules.sender("10.0.0.1", {"X-Forwarded-For": text}).address == "10.0.0.1"


def test_a_proxy_is_recognised_behind_a_dual_stack_socket():
    rules = origins(trusted_proxies=("10.0.0.0/8",))
    assert rules.sender("::ffff:10.0.0.1", FORWARDED).address == "203.0.113.9"


def test_our_own_tls_is_known_without_a_proxy(tmp_path):
    rules = origins(certfile=tmp_path / "c", keyfile=tmp_path / "k")
    assert rules.sender("1.1.1.1", FORWARDED).scheme == "https"
