"""What can go wrong between Mead and a tool server: a code, and a sentence of our own.

Text that a server sent is part of a fault only in RemoteError, whose message is for the model and
never for a log.
"""

from typing import Literal

FaultCode = Literal[
    "connection_lost",  # it broke while an answer was due; whether the call ran is unknown
    "timeout",
    "cannot_start",  # the command of a stdio server
    "unreachable",  # no connection could be made, so nothing was sent
    "unauthorized",  # HTTP 401 or 403
    "rejected",  # another HTTP 4xx, or a redirect
    "server_error",  # HTTP 5xx
    "unknown_session",
    "response_too_large",
    "bad_response",
    "incompatible",  # no common revision of the protocol
    "input_required",
    "remote_error",  # a JSON-RPC error
    "not_json",  # the arguments cannot be written as JSON
    "not_connected",
]


class ServerFault(Exception):
    """A request or a connection failed.  `str(fault)` holds neither secrets nor server text."""

    def __init__(self, code: FaultCode, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code: FaultCode = code
        self.sentence = sentence

    def again(self) -> "ServerFault":
        """The same fault for one more waiting caller (an exception belongs to one raise)."""
        return ServerFault(self.code, self.sentence)


class RemoteError(ServerFault):
    """The server answered with a JSON-RPC error.  Its words are for the model alone."""

    def __init__(self, rpc_code: int, words: str, data: object = None) -> None:
        super().__init__("remote_error", f"the server answered with error {rpc_code}")
        self.rpc_code = rpc_code
        self.words = words
        self.data = data

    def again(self) -> "RemoteError":
        return RemoteError(self.rpc_code, self.words, self.data)
