"""Where a server listens, as those who want to reach it are told."""

from typing import Final, NamedTuple

_ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - a name for it, not a bind


class Listener(NamedTuple):
    """A server's socket."""

    scheme: str
    """http or https."""
    address: str
    port: int

    @property
    def url(self) -> str:
        """How a program on this machine reaches it, without a slash at the end."""
        host = _ANY.get(self.address, self.address)
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"
