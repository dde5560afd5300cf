"""A disk in memory that can lose power, for `mead.storage.disk.Disk`.

What it promises is the least that POSIX does.  Until a file is synced, each of its 512-byte sectors
may be on the disk as it was, or as any write since left it, independently of every other sector and
of the file's size; a sector that a larger size covers and that never arrived reads as zeros.  Until
a directory is synced, each creation, rename and removal may be there or not, independently of the
others.  A sync that fails leaves its sectors in limbo: the system takes them for clean, so a later
sync succeeds without them.

`crash_states` names what may be found after power comes back.
"""

import errno
import itertools
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mead.storage.disk import FileEntry, OpenMode

SECTOR = 512


@dataclass
class Inode:
    """A file's bytes: as processes see them, and what of them is certain."""

    seen: bytearray = field(default_factory=bytearray)
    certain: bytearray = field(default_factory=bytearray)
    versions: dict[int, list[bytes]] = field(default_factory=dict)
    """For each sector, contents that may have reached the disk beside the certain one."""
    dirty: set[int] = field(default_factory=set)
    sizes: list[int] = field(default_factory=list)

    def write(self, data: bytes) -> None:
        start = len(self.seen)
        self.seen += data
        self._touched(start, len(self.seen))

    def truncate(self, size: int) -> None:
        del self.seen[size:]
        self._touched(size, size + 1)

    def sync(self) -> None:
        for sector in self.dirty:
            start = sector * SECTOR
            if len(self.certain) < start:
                self.certain += bytes(start - len(self.certain))
            self.certain[start : start + SECTOR] = self.seen[start : start + SECTOR]
            self.versions.pop(sector, None)
        size = len(self.seen)
        del self.certain[size:]
        self.certain += bytes(size - len(self.certain))
        for sector in [each for each in self.versions if each * SECTOR >= size]:
            del self.versions[sector]
        self.dirty.clear()
        self.sizes.clear()

    def fail_sync(self) -> None:
        self.dirty.clear()

    def states(self, limit: int, chance: random.Random) -> Iterator[bytes]:
        """What the file may hold after a crash: all of it, or `limit` of many by chance."""
        sizes = list(dict.fromkeys([len(self.certain), *self.sizes]))
        sectors = sorted(self.versions)
        choices = [[None, *dict.fromkeys(self.versions[sector])] for sector in sectors]
        count = len(sizes)
        for choice in choices:
            count *= len(choice)
        if count <= limit:
            picks = itertools.product(sizes, *choices)
        else:
            extremes = [(size, *(c[-1] for c in choices)) for size in sizes]
            extremes += [(size, *(None for _ in choices)) for size in sizes]
            drawn = (
                (chance.choice(sizes), *(chance.choice(choice) for choice in choices))
                for _ in range(limit)
            )
            picks = itertools.chain(extremes, drawn)
        for size, *picked in picks:
            yield self._with(size, zip(sectors, picked, strict=True))

    def _with(self, size: int, picked: Iterator[tuple[int, bytes | None]]) -> bytes:
        found = bytearray(self.certain)
        for sector, content in picked:
            if content is not None:
                start = sector * SECTOR
                if len(found) < start + len(content):
                    found += bytes(start + len(content) - len(found))
                found[start : start + SECTOR] = content.ljust(
                    min(SECTOR, max(len(content), len(found) - start)), b"\0"
                )
        del found[size:]
        return bytes(found + bytes(size - len(found)))

    def _touched(self, start: int, end: int) -> None:
        for sector in range(start // SECTOR, (max(end, start + 1) - 1) // SECTOR + 1):
            content = bytes(self.seen[sector * SECTOR : (sector + 1) * SECTOR])
            self.versions.setdefault(sector, []).append(content)
            self.dirty.add(sector)
        self.sizes.append(len(self.seen))


@dataclass
class NameChange:
    """A creation, rename or removal that the directory was not synced after."""

    name: str
    inode: Inode | None
    removes: str | None = None

    def apply(self, names: dict[str, Inode]) -> None:
        if self.removes is not None:
            names.pop(self.removes, None)
        if self.inode is None:
            names.pop(self.name, None)
        else:
            names[self.name] = self.inode


class DoneJob:
    """A job that ran at once."""

    done = True

    def __init__(self, job: Callable[[], object]) -> None:
        self._error: BaseException | None = None
        self._value: object = None
        try:
            self._value = job()
        except OSError as error:
            self._error = error

    def wait(self) -> object:
        if self._error is not None:
            raise self._error
        return self._value


class SimulatedFile:
    """An open file of a SimulatedDisk."""

    def __init__(self, disk: "SimulatedDisk", inode: Inode, path: Path) -> None:
        self._disk = disk
        self._inode = inode
        self._path = path

    def write(self, data: bytes) -> int:
        taken = self._disk.step("write", self._path, len(data))
        self._inode.write(data[:taken])
        self._disk.after()
        return taken

    def read(self, offset: int, count: int) -> bytes:
        return bytes(self._inode.seen[offset : offset + count])

    def truncate(self, size: int) -> None:
        self._disk.step("truncate", self._path)
        self._inode.truncate(size)
        self._disk.after()

    def sync(self) -> None:
        try:
            self._disk.step("sync", self._path)
        except OSError:
            self._inode.fail_sync()
            raise
        if not self._disk.forgets("sync", self._path):
            self._inode.sync()
        self._disk.after()

    def close(self) -> None:
        pass


class SimulatedDisk:
    """See the module.  `on_step` is called after every change."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.names: dict[str, Inode] = {
            name: Inode(seen=bytearray(data), certain=bytearray(data))
            for name, data in (files or {}).items()
        }
        self.certain_names = dict(self.names)
        self.changes: list[NameChange] = []
        self.steps = 0
        self.did: list[tuple[str, str]] = []
        """Every change that was asked for: the action and the file's name."""
        self.on_step: Callable[[], None] = lambda: None
        self.faults: dict[int, str] = {}
        """What goes wrong at which step: `short`, `full` or `broken`."""
        self.broken_from: int | None = None
        """From this step on nothing works."""
        self.forgotten: set[tuple[str, str]] = set()
        """Syncs that silently do nothing: (`sync` or `sync_directory`, how the name ends)."""

    # -- the Disk Protocol ------------------------------------------------------------------------

    def open(self, path: Path, mode: OpenMode) -> SimulatedFile:
        inode = self.names.get(path.name)
        if mode == "create":
            if inode is not None:
                raise FileExistsError(errno.EEXIST, "exists")
            self.step("create", path)
            inode = self.names[path.name] = Inode()
            self.changes.append(NameChange(path.name, inode))
            self.after()
        elif inode is None:
            raise FileNotFoundError(errno.ENOENT, "none")
        return SimulatedFile(self, inode, path)

    def rename(self, old: Path, new: Path) -> None:
        self.step("rename", new)
        inode = self.names.pop(old.name)
        self.names[new.name] = inode
        self.changes.append(NameChange(new.name, inode, removes=old.name))
        self.after()

    def unlink(self, path: Path) -> None:
        if path.name not in self.names:
            raise FileNotFoundError(errno.ENOENT, "none")
        self.step("unlink", path)
        del self.names[path.name]
        self.changes.append(NameChange(path.name, None))
        self.after()

    def listing(self, directory: Path) -> list[FileEntry]:
        return [
            FileEntry(name=name, size=len(inode.seen), modified=0.0)
            for name, inode in self.names.items()
        ]

    def sync_directory(self, directory: Path) -> None:
        self.step("sync_directory", directory)
        newest = self.changes[-1].name if self.changes else ""
        if not self.forgets("sync_directory", Path(newest)):
            self.certain_names = dict(self.names)
            self.changes = []
        self.after()

    def start(self, job: Callable[[], object]) -> DoneJob:
        return DoneJob(job)

    # -- what goes wrong --------------------------------------------------------------------------

    def step(self, action: str, path: Path, count: int = 0) -> int:
        """Count a change; how many of `count` bytes are taken.  Raises OSError."""
        self.steps += 1
        self.did.append((action, path.name))
        fault = self.faults.get(self.steps)
        if self.broken_from is not None and self.steps >= self.broken_from:
            fault = "broken"
        if fault == "full" or (fault == "short" and action != "write"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if fault == "broken":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return count // 2 if fault == "short" else count

    def after(self) -> None:
        self.on_step()

    def forgets(self, action: str, path: Path) -> bool:
        return any(action == each and path.name.endswith(end) for each, end in self.forgotten)

    # -- after a crash ----------------------------------------------------------------------------

    def crash_states(
        self, name: str, limit: int, chance: random.Random
    ) -> Iterator[dict[str, bytes]]:
        """The files that may be found.  Those but `name` are shown in one state alone."""
        for kept in itertools.product((False, True), repeat=len(self.changes)):
            names = dict(self.certain_names)
            for change, keep in zip(self.changes, kept, strict=True):
                if keep:
                    change.apply(names)
            others = {other: bytes(i.certain) for other, i in names.items() if other != name}
            inode = names.get(name)
            if inode is None:
                yield others
                continue
            for content in inode.states(limit, chance):
                yield {**others, name: content}
