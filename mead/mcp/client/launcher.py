"""The parent of one tool server: starts it, and sees to it that nothing of it survives.

Run as a plain script, never imported by Mead: `python -I -S launcher.py`, in a session of its own,
with the server's stdin, stdout and stderr as its own and a socket from Mead as descriptor 3.

- From Mead: one line of JSON, what to start; then `s` for a stop in order (Mead closes the server's
  stdin itself); the end of the socket, whenever it comes, means that Mead is gone.
- To Mead: one line of JSON, `{"pid": N}` or `{"error": ERRNO}`; then `{"exit": STATUS}` when the
  server itself has ended.

The launcher is a subreaper: whatever the server starts, and however it hides (double forks, new
sessions), its orphans become children of the launcher.  So "no children left" (ECHILD) is exact,
and only then does the launcher end.  If the launcher itself is killed, the kernel kills the server.
"""

import ctypes
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any, Final, NoReturn

CONTROL: Final = 3
SETTINGS_LIMIT_BYTES: Final = 4 * 1024 * 1024

TERM_AFTER_S: Final = 2.0
KILL_AFTER_S: Final = 4.0
"""Of a stop in order: SIGTERM, then SIGKILL.  Source: SPEC section 7."""

LEFT_TERM_S: Final = 0.5
LEFT_KILL_S: Final = 1.5
"""The same for what is left when the server itself has ended."""

KILL_AGAIN_S: Final = 0.02

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_NEVER: Final = float("inf")


def main() -> None:
    """Start the server and stay until all of it is gone."""
    close_others()
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    woken = watch_signals()
    settings = read_settings()
    server = start(settings)
    release_streams()
    tell({"pid": server})
    Watch(server, woken).run()


def close_others() -> None:
    """Keep the three streams and the control socket; the server gets the three alone."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - pathlib is 10 ms of a small start
        if int(name) > CONTROL:
            with suppress(OSError):
                os.close(int(name))
    os.set_inheritable(CONTROL, False)


def prctl(option: int, value: int) -> None:
    """Linux's prctl; nothing elsewhere."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def watch_signals() -> int:
    """A descriptor that becomes readable at every signal that matters here."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *_ENDING):
        signal.signal(number, nothing)
    return woken


def nothing(number: int, frame: object) -> None:
    """A handler, so that the signal interrupts and wakes instead of ending or being ignored."""


_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def read_settings() -> dict[str, Any]:
    """The line that Mead writes."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(CONTROL, 65536)
        if not piece or len(line) > SETTINGS_LIMIT_BYTES:
            raise SystemExit(0)
        line += piece
    return json.loads(line)


def start(settings: dict[str, Any]) -> int:
    """The server's process id; or Mead is told why there is none, and this process ends."""
    failed, fail = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        become_server(settings, parent, fail)
    os.close(fail)
    error = os.read(failed, 16)
    os.close(failed)
    if error:
        tell({"error": int(error)})
        raise SystemExit(0)
    return pid


def become_server(settings: dict[str, Any], parent: int, fail: int) -> NoReturn:
    """Replace this process by the server: a group of its own, signals as they were at boot."""
    try:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, *_ENDING):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if settings["directory"] is not None:
            os.chdir(settings["directory"])
        os.execve(settings["path"], settings["argv"], settings["environment"])  # noqa: S606
    except OSError as error:
        os.write(fail, str(error.errno).encode())
    finally:
        os._exit(127)


def release_streams() -> None:
    """Let go of the pipes: their ends must come with the server's, not with this process's."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def tell(message: dict[str, int]) -> None:
    """Tell Mead, if it is still there."""
    with suppress(OSError):
        os.write(CONTROL, json.dumps(message).encode() + b"\n")


class Watch:
    """Waits for children, Mead and the clock."""

    def __init__(self, server: int, woken: int) -> None:
        self.server = server
        self.woken = woken
        self.term_at = _NEVER
        self.kill_at = _NEVER

    def run(self) -> None:
        """Return when there is no child left."""
        poll = select.poll()
        poll.register(CONTROL, select.POLLIN)
        poll.register(self.woken, select.POLLIN)
        while self.reap():
            for descriptor, _ in poll.poll(self.wait_ms()):
                if descriptor == CONTROL:
                    self.hear(poll)
                else:
                    self.signalled()
            self.act()

    def reap(self) -> bool:
        """Collect the dead; whether any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.server:
                tell({"exit": os.waitstatus_to_exitcode(status)})
                self.hurry(LEFT_TERM_S, LEFT_KILL_S)

    def hear(self, poll: select.poll) -> None:
        """Mead asks for a stop, or is gone."""
        try:
            heard = os.read(CONTROL, 64)
        except OSError:
            heard = b""
        if heard:
            self.hurry(TERM_AFTER_S, KILL_AFTER_S)
        else:
            poll.unregister(CONTROL)
            self.hurry(0, 0)

    def signalled(self) -> None:
        """A child ended (`reap` will see), or someone wants this process to end."""
        numbers = os.read(self.woken, 64)
        if any(number in _ENDING for number in numbers):
            self.hurry(0, 0)

    def hurry(self, term_s: float, kill_s: float) -> None:
        """Signal no later than that from now."""
        now = time.monotonic()
        self.term_at = min(self.term_at, now + term_s)
        self.kill_at = min(self.kill_at, now + kill_s)

    def wait_ms(self) -> float | None:
        next_ = min(self.term_at, self.kill_at)
        return None if next_ == _NEVER else max(0.0, next_ - time.monotonic()) * 1000 + 1

    def act(self) -> None:
        """Signal what is due."""
        now = time.monotonic()
        if now >= self.kill_at:
            self.term_at = _NEVER
            self.kill_at = now + KILL_AGAIN_S
            signal_all(self.server, signal.SIGKILL)
        elif now >= self.term_at:
            self.term_at = _NEVER
            signal_all(self.server, signal.SIGTERM)


def signal_all(server: int, number: int) -> None:
    """Send it to every descendant; where nobody can tell which those are, to the server's group."""
    if not os.path.isdir("/proc/self"):  # noqa: PTH112
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(server, number)
        return
    for pid in descendants():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def descendants() -> list[int]:
    """Every process below this one, parents before their children."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            children.setdefault(parent_of(name), []).append(int(name))
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, ())
    return found[1:]


def parent_of(pid: str) -> int:
    """Its parent's id; 0 when it is gone meanwhile."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123
            # `pid (name) state ppid`, and a name may hold anything, parentheses too
            return int(stat.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit(0)
