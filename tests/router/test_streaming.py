"""What is shown while an answer grows is exactly the answer that is kept."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.errors import MAXIMUM_OUTPUT_BYTES, TurnFailed
from mead.protocols import ModelReply, ModelRequest, ToolRequest
from mead.providers.scripted import ScriptedProvider
from mead.router.transcript import SEPARATOR, Transcript
from tests.helpers.routing import Bench, Person, Setting, make_router

HUB = Bench(a__b=("read", lambda _: "x"))
CALL = [{"name": "a__b"}]

CALLS = st.lists(st.lists(st.sampled_from(["", "a", "b ", "\n\n", "\n", " é"])), min_size=1)


def steps(calls: list[list[str]]) -> list[dict[str, Any]]:
    """A script whose every call but the last asks for a tool."""
    made: list[dict[str, Any]] = [{"chunks": chunks, "tool_calls": CALL} for chunks in calls]
    made[-1] = {"chunks": calls[-1]}
    return made


class Deaf:
    """A provider with tools that cannot stream."""

    name = "deaf"
    model = "m"
    host = None

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def complete(self, request: ModelRequest) -> ModelReply:
        return self.converse(request)

    def converse(self, request: ModelRequest) -> ModelReply:
        text = self._texts[len(request.rounds)]
        last = len(request.rounds) == len(self._texts) - 1
        call = () if last else (ToolRequest(id="1", name="a__b", arguments={}),)
        return ModelReply(text=text, stop_reason="end_turn", tool_requests=call)


@given(CALLS.filter(lambda calls: len(calls) <= 8))
def test_the_fragments_joined_are_the_answer(calls: list[list[str]]) -> None:
    person, heard = Person(), list[str]()
    setting = Setting(person=person, on_text=heard.append)
    router = make_router({"local": ScriptedProvider(steps(calls))}, hub=HUB)
    output = router.handle_turn((), "hi", setting.context)
    assert output == "\n\n".join(text for chunks in calls if (text := "".join(chunks)))
    assert person.text == output
    assert "".join(heard) == output
    assert "" not in heard


@given(CALLS.filter(lambda calls: len(calls) <= 8))
def test_a_streamed_a_plain_and_an_unwatched_turn_give_the_same_answer(
    calls: list[list[str]],
) -> None:
    texts = ["".join(chunks) for chunks in calls]
    watched = Setting(person=Person())
    streamed = make_router({"local": ScriptedProvider(steps(calls))}, hub=HUB)
    plain = make_router({"local": Deaf(texts)}, hub=HUB)
    output = streamed.handle_turn((), "hi", watched.context)
    assert plain.handle_turn((), "hi", Setting(person=Person()).context) == output
    assert streamed.handle_turn((), "hi", Setting().context) == output


def test_a_provider_that_cannot_stream_shows_each_call_as_one_fragment() -> None:
    person = Person()
    router = make_router({"local": Deaf(["one", "", "two"])}, hub=HUB)
    router.handle_turn((), "hi", Setting(person=person).context)
    assert [event[1] for event in person.of("text")] == ["one", SEPARATOR, "two"]


def test_the_text_of_a_call_is_shown_before_its_tools_run() -> None:
    person = Person()
    script = [{"chunks": ["let me ", "look"], "tool_calls": CALL}, "found"]
    router = make_router({"local": ScriptedProvider(script)}, hub=HUB)
    router.handle_turn((), "hi", Setting(person=person).context)
    assert [event[0] for event in person.events] == [
        *("routed", "text", "text", "asked", "finished", "text", "text"),
    ]


def test_fragments_shown_before_a_failure_stay_shown() -> None:
    person = Person()
    router = make_router({"local": ScriptedProvider([{"text": "half", "error": "overloaded"}])})
    with pytest.raises(TurnFailed):
        router.handle_turn((), "hi", Setting(person=person).context)
    assert person.text == "half"


class Streams(ScriptedProvider):
    """Says which of its ways it was called."""

    def __init__(self) -> None:
        super().__init__(["x"])
        self.ways: list[str] = []

    def complete(self, request: ModelRequest) -> ModelReply:
        self.ways.append("complete")
        return ModelReply(text="x", stop_reason="end_turn")

    def converse(self, request: ModelRequest) -> ModelReply:
        self.ways.append("converse")
        return ModelReply(text="x", stop_reason="end_turn")

    def converse_stream(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        self.ways.append("converse_stream")
        return ModelReply(text="x", stop_reason="end_turn")


def test_nothing_is_streamed_when_nobody_watches() -> None:
    provider = Streams()
    make_router({"local": provider}).handle_turn((), "hi", Setting().context)
    make_router({"local": provider}, hub=HUB).handle_turn((), "hi", Setting().context)
    assert provider.ways == ["complete", "converse"]


def test_a_watcher_without_a_say_is_enough_to_stream() -> None:
    provider, heard = Streams(), list[str]()
    make_router({"local": provider}).handle_turn((), "hi", Setting(on_text=heard.append).context)
    assert provider.ways == ["converse_stream"]
    assert heard == ["x"]


def test_a_provider_that_contradicts_its_fragments_is_held_to_what_was_shown() -> None:
    shown: list[str] = []
    transcript = Transcript(shown.append)
    transcript.add("abc")
    transcript.end_call("abdef")
    transcript.add("x")
    transcript.end_call("xyz")
    assert transcript.text == "abc\n\nxyz"
    assert "".join(shown) == transcript.text


def test_a_model_without_end_is_not_listened_to() -> None:
    heard: list[str] = []
    context = Setting(on_text=heard.append).context
    with pytest.raises(TurnFailed) as failed:
        make_router({"local": Endless()}).handle_turn((), "hi", context)
    assert failed.value.reason == "bad_output"
    assert sum(map(len, heard)) == MAXIMUM_OUTPUT_BYTES


class Endless:
    """A provider whose model goes on and on."""

    name = "endless"
    model = "m"
    host = None

    def complete(self, request: ModelRequest) -> ModelReply:
        raise NotImplementedError

    def converse_stream(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        while True:
            on_text("x" * 1024)
