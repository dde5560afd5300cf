"""The codec that both sides of MCP share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.mcp.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Error,
    Failure,
    Malformed,
    Message,
    Notification,
    NotJson,
    Request,
    Response,
    decode,
    decode_each,
    encode,
)

scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)
ids = st.integers(-(2**53), 2**53) | st.text()
params = st.none() | st.dictionaries(st.text(), values)
messages = (
    st.builds(Request, ids, st.text(), params)
    | st.builds(Notification, st.text(), params)
    | st.builds(Response, ids, values)
    | st.builds(
        Failure,
        st.none() | ids,
        st.builds(Error, st.integers(-32768, 32767), st.text(), values),
    )
)


@given(messages)
def test_what_is_encoded_is_decoded_and_has_one_line(message: Message) -> None:
    data = encode(message)
    assert b"\n" not in data
    assert decode(data) == message


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", PARSE_ERROR),
        (b"{", PARSE_ERROR),
        (b"\xff", PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"result":NaN}', PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b"null", INVALID_REQUEST),
        (b'"text"', INVALID_REQUEST),
        (b"{}", INVALID_REQUEST),
        (b'{"id":1,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":[],"result":{}}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","result":{}}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"error":"no"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"1"}}', INVALID_REQUEST),
    ],
)
def test_what_is_no_message_is_refused_with_its_code(data: bytes, code: int) -> None:
    with pytest.raises(Malformed) as refused:
        decode(data)
    assert refused.value.code == code


def test_params_are_kept_as_they_came() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}') == Request(1, "m", [1])


def test_an_error_may_lack_its_words_and_its_id() -> None:
    answer = decode(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}')
    assert answer == Failure(None, Error(-32700, ""))


def test_a_batch_is_read_message_by_message() -> None:
    batch = b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":{}}]'
    assert decode_each(batch, 2) == [Notification("a"), Response(1, {})]
    assert decode_each(b'{"jsonrpc":"2.0","method":"a"}', 0) == [Notification("a")]
    with pytest.raises(Malformed):
        decode_each(batch, 1)


@pytest.mark.parametrize("params", [{"text": "\ud800"}, {"value": object()}, {"big": 2**70}])
def test_what_json_cannot_say_is_refused(params: dict[str, object]) -> None:
    with pytest.raises(NotJson):
        encode(Request(1, "m", params))
