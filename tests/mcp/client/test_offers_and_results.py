"""What a server says about its tools and answers to a call: bounded, and as a model reads it."""

import pytest
from orjson import loads

from mead.config import ServerSettings
from mead.errors import ConfigurationError
from mead.mcp.client.faults import RemoteError, ServerFault
from mead.mcp.client.offers import PERMISSIVE, header_value, read_page
from mead.mcp.client.policy import Policy
from mead.mcp.client.results import MAXIMUM_CHARACTERS, error_outcome, outcome, truncated

# -- offers ----------------------------------------------------------------------------------------


def offer(mirrors=False, **shape):
    (found,) = read_page({"tools": [{"name": "x", **shape}]}, mirrors=mirrors).values()
    return found


def test_a_description_is_cut_at_two_thousand_characters():
    assert offer(description="ä" * 2001).description == "ä" * 2000


@pytest.mark.parametrize(
    ("shape", "description"),
    [
        ({}, ""),
        ({"description": None}, ""),
        ({"description": "  ", "title": "Title"}, "Title"),
        ({"annotations": {"title": "Noted"}}, "Noted"),
        ({"description": ["no"], "title": 7}, ""),
    ],
)
def test_a_tool_without_a_description_has_its_title(shape, description):
    assert offer(**shape).description == description


LARGE = {"type": "object", "description": "x" * 20_001}
DEEP: dict = {"type": "object"}
for _ in range(400):
    DEEP = {"type": "object", "properties": {"x": DEEP}}


@pytest.mark.parametrize(
    "schema",
    [None, [], "object", 7, {"type": "string"}, {"type": ["object", "null"]}, LARGE, DEEP],
    ids=["none", "list", "text", "number", "string", "types", "large", "deep"],
)
def test_a_schema_that_cannot_be_used_becomes_the_permissive_one(schema):
    assert offer(inputSchema=schema).schema == PERMISSIVE


def test_a_schema_is_kept_as_it_is_otherwise():
    schema = {"$schema": "x", "type": "object", "properties": {"a": {"$ref": "http://far/away"}}}
    assert offer(inputSchema=schema).schema == schema
    assert offer(inputSchema={"properties": {}}).schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("tools", [None, {}, "x", [None, 7, {}, {"name": ""}, {"name": 5}]])
def test_what_is_no_tool_is_left_out(tools):
    assert read_page({"tools": tools}, mirrors=False) == {}


@pytest.mark.parametrize(
    "mark",
    [
        {"type": "object", "x-mcp-header": "A"},
        {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": ""}}},
        {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "a b"}}},
        {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": 7}}},
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "x-mcp-header": "Same"},
                "b": {"type": "string", "x-mcp-header": "same"},
            },
        },
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}
            },
        },
        {"type": "object", "anyOf": [{"type": "string", "x-mcp-header": "A"}]},
        {"type": "object", "$defs": {"a": {"type": "string", "x-mcp-header": "A"}}},
    ],
)
def test_a_broken_header_mark_removes_the_tool_where_marks_count(mark):
    page = {"tools": [{"name": "x", "inputSchema": mark}]}
    assert read_page(page, mirrors=True) == {}
    assert set(read_page(page, mirrors=False)) == {"x"}


def test_a_mark_among_examples_is_data():
    schema = {"type": "object", "examples": [{"x-mcp-header": "A"}], "default": {"x-mcp-header": 1}}
    assert offer(mirrors=True, inputSchema=schema).mirrored == {}


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("plain text", "plain text"),
        ("", ""),
        (" edge", "=?base64?IGVkZ2U=?="),
        ("a\nb", "=?base64?YQpi?="),
        ("é", "=?base64?w6k=?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
    ],
)
def test_a_header_value_travels_plain_or_in_its_envelope(value, sent):
    assert header_value(value) == sent


# -- policy ----------------------------------------------------------------------------------------


def test_read_tools_show_always_and_effect_tools_on_request():
    tools = {"look": "read", "change": "effect"}
    grants = Policy([ServerSettings(name="s", transport="stdio", tools=tools)]).grants
    assert grants["s__look"].visible(None)
    assert not grants["s__change"].visible(None)
    assert grants["s__change"].visible("effect")


@pytest.mark.parametrize("tool", ["with.dot", "with space", "", "x" * 62])
def test_a_tool_that_no_provider_could_take_is_refused(tool):
    server = ServerSettings(name="s", transport="stdio", tools={tool: "read"})
    if tool == "":
        assert set(Policy([server]).grants) == {"s__"}
        return
    with pytest.raises(ConfigurationError):
        Policy([server])


# -- results ---------------------------------------------------------------------------------------


def text(*blocks, **more):
    return outcome({"content": list(blocks), **more}).text


WORDS = {"type": "text", "text": "words"}


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (WORDS, "words"),
        (
            {"type": "image", "data": "QUJD", "mimeType": "image/png"},
            "[image: image/png, 3 bytes]",
        ),
        (
            {"type": "audio", "data": "QUI=", "mimeType": "audio/wav"},
            "[audio: audio/wav, 2 bytes]",
        ),
        ({"type": "image"}, "[image: unknown, 0 bytes]"),
        ({"type": "resource_link", "uri": "file:///x"}, "[resource link: file:///x]"),
        (
            {"type": "resource", "resource": {"uri": "file:///x", "text": "inside"}},
            "[resource: file:///x]\ninside",
        ),
        (
            {"type": "resource", "resource": {"uri": "u", "blob": "QUJD", "mimeType": "a/b"}},
            "[resource: u, a/b, 3 bytes]",
        ),
        ({"type": "hologram"}, "[content of an unknown type]"),
        ({"type": "text", "text": 7}, "[content of an unknown type]"),
        ("no block", "[content of an unknown type]"),
    ],
)
def test_content_that_is_no_text_is_a_placeholder(block, shown):
    assert text(block) == shown
    assert text(WORDS, block, WORDS) == f"words\n{shown}\nwords"


@pytest.mark.parametrize(
    ("blocks", "structured", "shown"),
    [
        ([], {"a": 1}, '{"a":1}'),
        ([WORDS], {"a": 1}, 'words\n{"a":1}'),
        ([{"type": "text", "text": '{ "a": 1 }'}], {"a": 1}, '{ "a": 1 }'),
        ([WORDS], {"result": "words"}, "words"),
        ([{"type": "text", "text": "5"}], {"result": 5}, "5"),
        ([{"type": "text", "text": "[1, 2]"}], {"result": [1, 2]}, "[1, 2]"),
        ([WORDS], {"content": "words"}, "words"),
        ([], [1, 2], "[1,2]"),
        ([], "plain", '"plain"'),
        ([WORDS], None, "words"),
    ],
)
def test_structured_content_is_json_text_unless_the_text_says_the_same(blocks, structured, shown):
    assert text(*blocks, structuredContent=structured) == shown


def test_an_error_result_is_an_error_outcome():
    assert outcome({"content": [WORDS], "isError": True}).is_error
    assert not outcome({"content": [WORDS], "isError": "yes"}).is_error


@pytest.mark.parametrize("result", [{}, {"content": None}, {"content": "words"}])
def test_a_result_without_content_is_empty_text(result):
    assert outcome(result).text == ""


def test_an_unknown_kind_of_result_is_a_fault():
    with pytest.raises(ServerFault, match="bad_response"):
        outcome({"resultType": "later", "content": [WORDS]})


@pytest.mark.parametrize(("depth", "copied"), [(300, False), (1008, False), (1008, True)])
def test_structured_content_that_is_nested_too_deeply_is_a_fault(depth, copied):
    nested = "[" * depth + "]" * depth
    with pytest.raises(ServerFault, match="bad_response: the result is nested too deeply"):
        text({**WORDS, "text": nested if copied else "see there"}, structuredContent=loads(nested))


def test_a_result_is_cut_at_fifty_thousand_characters_with_a_marker():
    assert truncated("x" * MAXIMUM_CHARACTERS) == "x" * MAXIMUM_CHARACTERS
    cut = truncated("x" * (MAXIMUM_CHARACTERS + 12))
    assert cut == "x" * MAXIMUM_CHARACTERS + "\n[truncated: 12 more characters]"


def test_a_servers_error_is_told_to_the_model_and_not_to_the_log():
    fault = RemoteError(-32602, "no such city", {"secret": 1})
    assert error_outcome(fault).text == "remote_error: no such city"
    assert str(fault) == "remote_error: the server answered with error -32602"
