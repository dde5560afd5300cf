"""How a client of the deck fails."""


class DeckRefused(Exception):
    """The server gave no ticket: `status` is HTTP's, `code` the server's word for it."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"the deck refused: {code} ({status})")
        self.status = status
        self.code = code


class DeckClosed(Exception):
    """The server closed the socket, or it was lost (code 1006)."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"the deck closed the socket: {code} {reason}".rstrip())
        self.code = code
        self.reason = reason


class DeckMisspoke(Exception):
    """What the server said is none of the protocol's: it is no Mead, or one of another time."""

    def __init__(self, what: str) -> None:
        """`what` holds nothing that the server chose."""
        super().__init__(f"this is no deck of a Mead: {what}")
