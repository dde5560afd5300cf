"""Providers of an operator who is careless, for slots that name a class."""

from mead.protocols import ModelReply, ModelRequest


class Chatty:
    """Prints where a line could be taken for a fault."""

    name = "chatty"
    model = "m"
    host = None

    def __init__(self) -> None:
        print("hello")  # noqa: T201 - that is what it is for

    def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(text=request.prompt)


class Raising(Chatty):
    """Cannot say whether it is local."""

    def boot_check(self) -> object:
        raise ZeroDivisionError("a secret")
