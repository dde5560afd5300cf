"""The model of the soak: what it answers follows from the prompt alone, so it can be checked.

`say COUNT [PAUSE_MS]`: that many words, streamed.  `sum A B`, `far A B`, `frail A B`: a tool call
that adds (over standard streams, over HTTP, on a server that comes and goes).  `die`: the tool
server ends.  `write`: a tool that changes something.  `choose`: a question to the person.  `fail`:
a model that is overloaded.  `flood COUNT`: that many pieces of 16 KiB.
"""

from typing import Any

from benchmarks.soak.words import words
from mead.protocols import ModelRequest
from mead.providers.scripted import ScriptedProvider

PIECE = "x" * 16_383 + " "
USAGE = {"input": 10, "output": 5}
OPTIONS = ("tea", "coffee")


class SoakModel(ScriptedProvider):
    """A provider as `package.module:Class` in the settings."""

    def __init__(self) -> None:
        super().__init__(_step, model="soak")
        self.requests = type(self.requests)(maxlen=1)  # nothing that grows with the prompts


def _step(request: ModelRequest) -> dict[str, Any]:
    verb, *arguments = request.prompt.split()
    if request.rounds:
        told = request.rounds[-1].answers
        return {"text": " ".join(each.text for each in told), "usage": USAGE}
    return _first(verb, [int(each) for each in arguments]) | {"usage": USAGE}


def _first(verb: str, numbers: list[int]) -> dict[str, Any]:
    if verb == "say":
        return {"chunks": words(numbers[0]), "delay_ms": numbers[1] if numbers[1:] else 0}
    if verb == "flood":
        return {"chunks": [PIECE] * numbers[0], "delay_ms": 5}
    if verb == "fail":
        return {"text": "begun ", "error": "overloaded"}
    if verb == "choose":
        return _call("ask_user", prompt="Which?", options=list(OPTIONS))
    tools = {"sum": "near__add", "far": "far__add", "frail": "frail__add"}
    tools |= {"die": "mortal__die", "write": "near__write"}
    return _call(tools[verb], **dict(zip("ab", numbers, strict=False)))


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}
