"""The shapes of addresses.  Source: PROVIDERS.md section 2 for Ollama's."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.config import network

PARSERS = (
    network.base_url,
    network.bare_base_url,
    network.ollama_url,
    network.server_url,
    network.proxy_url,
    network.origin,
    network.host,
    network.ip_address,
    network.ip_network,
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("127.0.0.1:9999", "http://127.0.0.1:9999"),
        ("localhost", "http://localhost:11434"),
        ("http://box", "http://box"),
        ("http://box:80/", "http://box"),
        ("https://box", "https://box"),
        ("https://box:11434", "https://box:11434"),
        ("http://box:11434/ollama/", "http://box:11434/ollama"),
        ("box/prefix", "http://box:11434/prefix"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:81", "http://127.0.0.1:81"),
        ("http://0.0.0.0:81", "http://127.0.0.1:81"),
        (":81", "http://127.0.0.1:81"),
        ("::", "http://[::1]:11434"),
        ("[::]:81", "http://[::1]:81"),
        ("::1", "http://[::1]:11434"),
        ("[fd00::1]:81", "http://[fd00::1]:81"),
        ("ollama.com", "https://ollama.com"),
        (' "box:81" ', "http://box:81"),
        ("HTTP://Box:81", "http://box:81"),
    ],
)
def test_an_ollama_host_becomes_a_whole_address(text: str, address: str) -> None:
    assert network.ollama_url(text) == address


@pytest.mark.parametrize(
    "text",
    ["ftp://box", "box:0", "box:70000", "box:port", "u:p@box", "bo x", "http://box/v1", "[::1"],
)
def test_an_ollama_host_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the parsers say no more
        network.ollama_url(text)


@pytest.mark.parametrize(
    ("parse", "text", "normal"),
    [
        (network.base_url, "https://h/v1/", "https://h/v1"),
        (network.base_url, "http://[::1]:8080", "http://[::1]:8080"),
        (network.bare_base_url, "http://h:1/anthropic", "http://h:1/anthropic"),
        (network.server_url, "https://h/mcp?key=a%20b", "https://h/mcp?key=a%20b"),
        (network.proxy_url, "http://u:p@h:3128/", "http://u:p@h:3128"),
        (network.origin, "https://A.example:443", "https://a.example"),
        (network.origin, "http://a:80", "http://a"),
        (network.origin, "http://a:443", "http://a:443"),
        (network.origin, "http://[::1]:3000", "http://[::1]:3000"),
        (network.origin, "vscode-webview://0abc", "vscode-webview://0abc"),
        (network.host, "A.Example:80", "a.example:80"),
        (network.ip_address, "localhost", "127.0.0.1"),
        (network.ip_address, "[::]", "::"),
        (network.ip_network, "10.1.1.1/8", "10.0.0.0/8"),
        (network.ip_network, "10.1.1.1/32", "10.1.1.1"),
    ],
)
def test_an_address_is_kept_in_its_normal_form(
    parse: Callable[[str], str], text: str, normal: str
) -> None:
    assert parse(text) == normal


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (network.base_url, "h:80"),
        (network.base_url, "//h"),
        (network.base_url, "https://"),
        (network.base_url, "https://u@h"),
        (network.base_url, "https://h?x=1"),
        (network.base_url, "https://h?"),
        (network.base_url, "https://h#x"),
        (network.base_url, "https://h:0"),
        (network.base_url, "https://h:1:2"),
        (network.base_url, "https://h\\@evil"),
        (network.base_url, "https://h/\r\nX: y"),
        (network.bare_base_url, "https://h/v1"),
        (network.bare_base_url, "https://h/v1/"),
        (network.server_url, "https://u:p@h/mcp"),
        (network.server_url, "https://h/mcp#x"),
        (network.proxy_url, "socks5://h:1"),
        (network.proxy_url, "http://h/path"),
        (network.origin, "https://a/path"),
        (network.origin, "https://u@a"),
        (network.origin, "a"),
        (network.origin, "*"),
        (network.origin, "https://*"),
        (network.host, "a/b"),
        (network.host, "a:0"),
        (network.host, "-a"),
        (network.host, "::1"),
        (network.host, "*"),
        (network.ip_address, "h"),
        (network.ip_address, ""),
        (network.ip_network, "h/8"),
    ],
)
def test_an_address_of_another_shape_is_refused(parse: Callable[[str], str], text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the parsers say no more
        parse(text)


@given(text=st.one_of(st.text(min_size=1), st.text("htps:/0123.[]@?#%v1 \n*x", min_size=1)))
def test_no_text_makes_a_parser_raise_anything_but_value_error(text: str) -> None:
    for parse in PARSERS:
        try:
            normal = parse(text)
        except ValueError:
            continue
        assert normal
        assert "\n" not in normal
        assert parse(normal) == normal  # a normal form is its own normal form
