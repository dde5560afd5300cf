"""Requests and answers of Ollama, without a network.  Spec: section 5, PROVIDERS section 2."""

from types import MappingProxyType

from mead.config.settings import ProviderOptions
from mead.protocols import Exchange, ModelRequest, Tool, ToolAnswer, ToolRound
from mead.providers.ollama_wire import Fold, chat_body, reply_from
from mead.providers.shape import Json, dumped
from mead.turn import Usage

TOOL = Tool(
    name="files__read",
    server="files",
    tool="read",
    kind="read",
    description="Read a file",
    schema={"type": "object", "properties": {"path": {"type": "string"}}},
)


def options(**given) -> ProviderOptions:
    return ProviderOptions(model="llama3.1", **given)


def body(message: Json, **more: object) -> Json:
    return {
        "message": {"role": "assistant", **message},
        "done": True,
        "done_reason": "stop",
        **more,
    }


def call(name: str = "files__read", arguments: object = None, **more: object) -> Json:
    return {"function": {"name": name, "arguments": arguments or {}}, **more}


# -- requests --------------------------------------------------------------------------------------


def test_a_request_always_names_its_context_and_its_stream():
    """Spec: num_ctx is always sent (config, else 8192)."""
    sent = chat_body(options(), ModelRequest(history=(), prompt="hi"))
    assert sent == {
        "model": "llama3.1",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "options": {"num_ctx": 8192, "num_predict": 4096},
    }


def test_options_travel_where_ollama_looks_for_them():
    given = options(
        system="Be brief.",
        num_ctx=1000,
        max_tokens=5,
        temperature=0.0,
        keep_alive="1h",
        think=False,
        extra=MappingProxyType({"truncate": False, "options": MappingProxyType({"seed": 1})}),
    )
    sent = chat_body(given, ModelRequest(history=(Exchange(prompt="a", answer="b"),), prompt="c"))
    assert sent["options"] == {"num_ctx": 1000, "num_predict": 5, "temperature": 0.0, "seed": 1}
    assert (sent["keep_alive"], sent["think"], sent["truncate"]) == ("1h", False, False)
    assert [(m["role"], m["content"]) for m in sent["messages"]] == [
        ("system", "Be brief."),
        ("user", "a"),
        ("assistant", "b"),
        ("user", "c"),
    ]
    assert dumped(sent)


def test_thinking_and_calls_go_back_unchanged_inside_their_tool_loop():
    """pydantic-ai#2040, in Ollama's words: the thinking belongs to the message it came with."""
    reply = reply_from(body({"content": "", "thinking": "Hm.", "tool_calls": [call(id="call_1")]}))
    answers = (ToolAnswer(id="call_1", name="files__read", text="the file"),)
    request = ModelRequest(
        history=(), prompt="p", tools=(TOOL,), rounds=(ToolRound(reply=reply, answers=answers),)
    )
    sent = chat_body(options(), request)
    assert sent["messages"][1:] == [
        {
            "role": "assistant",
            "content": "",
            "thinking": "Hm.",
            "tool_calls": [{"id": "call_1", "function": {"name": "files__read", "arguments": {}}}],
        },
        {
            "role": "tool",
            "content": "the file",
            "tool_name": "files__read",
            "tool_call_id": "call_1",
        },
    ]
    assert sent["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "files__read",
                "description": "Read a file",
                "parameters": TOOL.schema,
            },
        }
    ]


def test_results_of_parallel_calls_follow_their_message_in_order():
    """MoonshotAI/kosong#45: nothing may stand between a message with calls and their results."""
    calls = [call("a__x", id="call_1"), call("a__y", id="call_2")]
    reply = reply_from(body({"content": "", "tool_calls": calls}))
    answers = tuple(
        ToolAnswer(id=each.id, name=each.name, text=each.name) for each in reply.tool_requests
    )
    rounds = (ToolRound(reply=reply, answers=answers),)
    sent = chat_body(options(), ModelRequest(history=(), prompt="p", rounds=rounds))
    assert [message["role"] for message in sent["messages"]] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    assert [message.get("tool_call_id") for message in sent["messages"][2:]] == ["call_1", "call_2"]


# -- answers ---------------------------------------------------------------------------------------


def test_a_fold_of_lines_reads_as_the_plain_answer_does():
    plain = body(
        {"content": "Hello there", "thinking": "Hm. So.", "tool_calls": [call(id="call_1")]},
        prompt_eval_count=7,
        eval_count=3,
    )
    fold = Fold()
    for line in (
        {"message": {"role": "assistant", "content": "", "thinking": "Hm. "}, "done": False},
        {"message": {"role": "assistant", "content": "", "thinking": "So."}, "done": False},
        {"message": {"role": "assistant", "content": "Hello"}, "done": False},
        {"message": {"content": " there", "tool_calls": [call(id="call_1")]}, "done": False},
        {**plain, "message": {"role": "assistant", "content": ""}},
    ):
        assert not fold.done
        fold.add(line)
    assert fold.done
    assert fold.body() == plain
    assert reply_from(fold.body()) == reply_from(plain)


def test_thinking_is_no_text():
    reply = reply_from(body({"content": "4", "thinking": "2 and 2 ..."}))
    assert reply.text == "4"
    assert reply.echo == {"role": "assistant", "content": "4", "thinking": "2 and 2 ..."}


def test_a_missing_count_is_unknown_and_not_zero():
    """ollama#2068, ollama#3427: prompt_eval_count is missing for a cached prompt."""
    assert reply_from(body({"content": "x"}, eval_count=3)).usage == Usage(input=None, output=3)
    assert reply_from(body({"content": "x"})).usage == Usage()


def test_what_a_cache_had_is_counted_apart():
    answer = body({"content": "x"}, prompt_eval_count=10, prompt_eval_cached_count=8, eval_count=1)
    assert reply_from(answer).usage == Usage(input=2, output=1, cache_read=8)


def test_a_count_that_is_no_number_is_unknown():
    answer = body({"content": "x"}, prompt_eval_count="many", eval_count=True)
    assert reply_from(answer).usage == Usage()


def test_calls_without_ids_get_different_ones_and_the_echo_has_them_too():
    """ollama#15457: index is 0 for every call, and older versions send no id."""
    same = {"index": 0, "name": "files__read", "arguments": {"path": "a"}}
    reply = reply_from(
        body({"content": "", "tool_calls": [{"function": same}, {"function": same}]})
    )
    assert reply.stop_reason == "tool_use"
    assert [request.arguments for request in reply.tool_requests] == [{"path": "a"}] * 2
    ids = [request.id for request in reply.tool_requests]
    assert len(set(ids)) == 2
    assert [echoed["id"] for echoed in reply.echo["tool_calls"]] == ids


def test_an_id_that_comes_twice_is_replaced_once():
    reply = reply_from(body({"content": "", "tool_calls": [call(id="call_1"), call(id="call_1")]}))
    first, second = (request.id for request in reply.tool_requests)
    assert first == "call_1"
    assert second != "call_1"


def test_a_call_cut_by_the_limit_is_never_run():
    reply = reply_from(body({"content": "", "tool_calls": [call()]}, done_reason="length"))
    assert reply.stop_reason == "max_tokens"
    assert reply.tool_requests == ()


def test_arguments_may_be_missing_or_a_text():
    """litellm#5063: a tool without arguments."""
    calls = [
        {"function": {"name": "a__x"}},
        {"function": {"name": "a__y", "arguments": ""}},
        {"function": {"name": "a__z", "arguments": '{"n": 1}'}},
    ]
    requests = reply_from(body({"content": "", "tool_calls": calls})).tool_requests
    assert [request.arguments for request in requests] == [{}, {}, {"n": 1}]
    assert [request.fault for request in requests] == [None, None, None]


def test_arguments_that_are_no_object_are_a_fault_of_the_call():
    calls = [call(arguments="[1]"), call(arguments="{broken"), call(arguments=[1])]
    requests = reply_from(body({"content": "", "tool_calls": calls})).tool_requests
    assert all(request.fault for request in requests)
    assert all(request.arguments == {} for request in requests)


def test_other_reasons_to_stop_keep_their_names():
    assert reply_from(body({"content": "x"})).stop_reason == "end_turn"
    assert reply_from(body({"content": ""}, done_reason="load")).stop_reason == "load"


def test_fields_of_a_wrong_kind_are_as_if_missing():
    reply = reply_from({"message": {"content": None, "tool_calls": "no"}, "done": True})
    assert (reply.text, reply.tool_requests, reply.stop_reason) == ("", (), "end_turn")
