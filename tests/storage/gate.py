"""A gate that jobs in native threads wait at.  `threading.Event` is gevent's here, also inside."""

from gevent import monkey


class Gate:
    """Closed until `set`."""

    def __init__(self) -> None:
        self._lock = monkey.get_original("_thread", "allocate_lock")()
        self._lock.acquire()
        self._closed = True

    def wait(self, bound_s: float = 5) -> bool:
        """In a thread: whether the gate opened in time."""
        if not self._lock.acquire(timeout=bound_s):
            return False
        self._lock.release()
        return True

    def set(self) -> None:
        if self._closed:
            self._closed = False
            self._lock.release()
