"""Tool calls that arrive in pieces, from servers that agree on little.  Pure.

A piece says which call it belongs to by `index`, by `id`, by neither or wrongly by both:

- vLLM leaves out the id (vllm#18412), some repeat id or name in every piece;
- Ollama numbered every call 0 (ollama#15457): a new id at a taken index is a new call;
- older servers send whole calls without an index.
"""

from collections.abc import Mapping
from typing import Final, cast

from mead.providers.allowance import Allowance
from mead.providers.shape import Json, dumped, number_in, object_in, read_json, text_in

_FEW_PIECES: Final = 64
"""A call of more pieces than this did not come whole, so it is not read again at each of them."""


class _Call:
    """One call as it grows."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []

    def take(self, piece: Json, allowance: Allowance) -> None:
        """Add what the piece holds.  Raises ProviderFault."""
        function = object_in(piece, "function")
        self.id = self.id or text_in(piece, "id")
        self.name = self.name or text_in(function, "name")
        arguments = _arguments(function)
        allowance.take(len(arguments))
        self.pieces.append(arguments)

    def is_whole(self) -> bool:
        """Whether the arguments are a complete object."""
        if len(self.pieces) > _FEW_PIECES:
            return False
        return isinstance(read_json("".join(self.pieces)), dict)

    def body(self) -> Json:
        """The call as a plain answer holds it."""
        function = {"name": self.name, "arguments": "".join(self.pieces)}
        return {"id": self.id, "type": "function", "function": function}


class CallFold:
    """The calls of one answer, in the order of their first pieces."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def add(self, piece: Json) -> None:
        """The next element of a delta's `tool_calls`.  Raises ProviderFault."""
        call = self._known(piece)
        if call is None:
            self._allowance.take_value(piece)
            call = _Call()
            self._calls.append(call)
        call.take(piece, self._allowance)
        index = number_in(piece, "index")
        if index is not None:
            self._by_index[index] = call
        if call.id:
            self._by_id[call.id] = call

    def body(self) -> list[Json]:
        """The calls as a plain answer holds them."""
        return [call.body() for call in self._calls]

    def _known(self, piece: Json) -> _Call | None:
        """The call that the piece goes on with; None if it begins one."""
        call_id = text_in(piece, "id")
        if call_id in self._by_id:
            return self._by_id[call_id]
        index = number_in(piece, "index")
        if index is not None:
            call = self._by_index.get(index)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or (call_id and call.id):
            return None
        return None if self._begins_anew(call, piece, by_place=index is not None) else call

    def _begins_anew(self, call: _Call, piece: Json, *, by_place: bool) -> bool:
        """Whether a piece without a new id starts a call, though it seems to belong to `call`."""
        function = object_in(piece, "function")
        name = text_in(function, "name")
        if not name or not call.name:
            return False
        if name != call.name or not by_place:
            return True
        return _arguments(function).lstrip().startswith("{") and call.is_whole()


def _arguments(function: Mapping[str, object]) -> str:
    """The piece of the arguments; some servers send an object instead of its text."""
    value = function.get("arguments")
    if isinstance(value, dict):
        return dumped(cast(Json, value)).decode()
    return value if isinstance(value, str) else ""
