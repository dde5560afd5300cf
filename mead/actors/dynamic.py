"""A supervisor for children that come and go.  OTP's DynamicSupervisor, `restart: :temporary`."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from mead.actors.exits import NORMAL, Child, Lifetime

CHILD = TypeVar("CHILD", bound=Child)

SHUTDOWN_MS: Final = 5000


class TooManyChildren(Exception):
    """`max_children` children run already."""


class DynamicSupervisor(Lifetime, Generic[CHILD]):
    """Children by key.  One that ends, however it ends, is forgotten and not started again."""

    def __init__(self, name: str, *, max_children: int) -> None:
        super().__init__()
        self.name = name
        self._stopping = False
        self.max_children = max_children
        self._children: dict[str, CHILD] = {}
        self._reserved = 0

    def __len__(self) -> int:
        return len(self._children) + self._reserved

    @property
    def children(self) -> dict[str, CHILD]:
        """The running children by key; a copy."""
        return dict(self._children)

    def get(self, key: str) -> CHILD | None:
        """The child under that key, or None."""
        return self._children.get(key)

    @contextmanager
    def reserve(self) -> Generator[None]:
        """Hold a place while the block prepares a child (it may wait, on the disk say).

        Raises TooManyChildren, also after a `stop`.
        """
        if self._stopping or len(self) >= self.max_children:
            raise TooManyChildren(self.name)
        self._reserved += 1
        try:
            yield
        finally:
            self._reserved -= 1

    def adopt(self, key: str, child: CHILD) -> None:
        """Take a child that was started under a reserved place.

        Raises TooManyChildren when the supervisor was stopped meanwhile; the child is ended then.
        """
        if self._stopping:
            child.stop(SHUTDOWN_MS)
            raise TooManyChildren(self.name)
        self._children[key] = child
        child.on_end(lambda _: self._forget(key, child))

    def start_child(self, key: str, start: Callable[[], CHILD]) -> CHILD:
        """Start a child under `key`.  Raises TooManyChildren, and what `start` raises."""
        with self.reserve():
            child = start()
            self.adopt(key, child)
        return child

    def stop_child(self, key: str, timeout_ms: float = SHUTDOWN_MS) -> bool:
        """End the child under `key`; False when there is none.  Blocks until it has ended."""
        child = self._children.get(key)
        if child is None:
            return False
        child.stop(timeout_ms)
        self._forget(key, child)
        return True

    def stop(self, timeout_ms: float = SHUTDOWN_MS) -> None:
        """End all children."""
        self._stopping = True
        for key in list(self._children):
            self.stop_child(key, timeout_ms)
        self._finish(NORMAL)

    def _forget(self, key: str, child: CHILD) -> None:
        if self._children.get(key) is child:
            del self._children[key]
