"""What a test left behind: greenlets, file descriptors (sockets among them), child processes."""

import gc
import os
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import gevent
import psutil
from gevent import Greenlet, subprocess

_GRACE_S: Final = 1.0
"""How long something that is ending may take: a closed socket's greenlet, a child being reaped."""

_POLL_S: Final = 0.005
_FD: Final = Path("/proc/self/fd")
_HUB_OWN: Final = ("anon_inode:[event", "anon_inode:[timerfd")
"""The event loop's own descriptors: the hub's, and those of the hubs in its worker threads."""


@dataclass(frozen=True)
class Holdings:
    """What the process holds at one moment."""

    greenlets: frozenset[Greenlet]
    descriptors: frozenset[tuple[int, str]]
    children: frozenset[int]

    def since(self, earlier: "Holdings") -> "Holdings":
        """What is held now and was not held then."""
        return Holdings(
            greenlets=self.greenlets - earlier.greenlets,
            descriptors=self.descriptors - earlier.descriptors,
            children=self.children - earlier.children,
        )

    def __bool__(self) -> bool:
        return bool(self.greenlets or self.descriptors or self.children)


class LeakWatch:
    """Knows every greenlet that was started, and compares what the process holds."""

    def __init__(self) -> None:
        self._started: weakref.WeakSet[Greenlet] = weakref.WeakSet()

    def install(self) -> None:
        """Before the first test; also brings up what the hub makes only when it is needed."""
        Greenlet.add_spawn_callback(self._started.add)
        hub = gevent.get_hub()
        hub.threadpool.apply(int)
        subprocess.call(["true"])

    def holdings(self) -> Holdings:
        """What the process holds now."""
        return Holdings(
            greenlets=frozenset(one for one in self._started if not one.dead),
            descriptors=frozenset(_descriptors()),
            children=frozenset(child.pid for child in psutil.Process().children()),
        )

    def left_since(self, earlier: Holdings) -> Holdings:
        """What is still held after a moment's grace, garbage collected."""
        limit = time.monotonic() + _GRACE_S
        collected = False
        while left := self.holdings().since(earlier):
            if collected and time.monotonic() >= limit:
                break
            if not collected:
                gc.collect()  # an unclosed socket or file in a cycle warns here, and fails the test
                collected = True
            gevent.sleep(_POLL_S)
        return left

    def clear(self, left: Holdings) -> None:
        """End the greenlets and children, so that the next test does not suffer."""
        gevent.killall(list(left.greenlets), timeout=_GRACE_S)
        for pid in left.children:
            child = psutil.Process(pid) if psutil.pid_exists(pid) else None
            if child is not None and child.ppid() == os.getpid():
                child.kill()


def describe(left: Holdings) -> str:
    """One line for each thing left, with its name."""
    lines = [f"greenlet {_greenlet(one)}" for one in left.greenlets]
    lines += [f"descriptor {fd}: {_descriptor(fd, target)}" for fd, target in left.descriptors]
    lines += [f"child process {pid}: {_command(pid)}" for pid in left.children]
    return "\n".join(sorted(lines))


def _descriptors() -> list[tuple[int, str]]:
    """Descriptor and target; nothing on a system without /proc, where this is not checked."""
    found: list[tuple[int, str]] = []
    for entry in _FD.iterdir() if _FD.is_dir() else ():
        try:
            target = str(entry.readlink())
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
        if not target.startswith(_HUB_OWN):
            found.append((int(entry.name), target))
    return found


def _greenlet(one: Greenlet) -> str:
    run = getattr(one, "_run", None)
    frame = one.gr_frame
    where = f", now at {frame.f_code.co_filename}:{frame.f_lineno}" if frame else ", not started"
    return f"{one.name} running {getattr(run, '__qualname__', run)}{where}"


def _descriptor(fd: int, target: str) -> str:
    if not target.startswith("socket:"):
        return target
    for connection in psutil.Process().net_connections(kind="all"):
        if connection.fd == fd:
            return f"socket {connection.laddr} -> {connection.raddr} {connection.status}"
    return target


def _command(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        return f"{' '.join(process.cmdline())} ({process.status()})"
    except psutil.Error:
        return "gone meanwhile"
