"""Names for running things.  OTP's Registry: a look-up is one dictionary access."""

from collections.abc import Callable
from typing import Generic, TypeVar

from mead.actors.exits import NORMAL, Child, Lifetime

CHILD = TypeVar("CHILD", bound=Child)


class Registry(Lifetime, Generic[CHILD]):
    """Which child runs under which key.  An entry goes when its child ends."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str, CHILD] = {}
        self.lookup: Callable[[str], CHILD | None] = self._entries.get
        """The child under a key, or None: the dictionary's own method, for speed."""

    def __len__(self) -> int:
        return len(self._entries)

    def register(self, key: str, child: CHILD) -> None:
        """Enter `child` under `key`, in place of an earlier one."""
        self._entries[key] = child
        child.on_end(lambda _: self.unregister(key, child))

    def unregister(self, key: str, child: CHILD) -> None:
        """Take the entry out, unless it is another child's by now."""
        if self._entries.get(key) is child:
            del self._entries[key]

    def stop(self, timeout_ms: float = 0) -> None:
        """Forget everything."""
        del timeout_ms
        self._entries.clear()
        self._finish(NORMAL)
