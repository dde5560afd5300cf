"""What the worker holds: read from /proc and /metrics, and asked of the census inside."""

import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.soak.mcp import Mcp
from benchmarks.soak.stage import Stage
from tests.helpers.mcp_http import AUTHORIZED

MIB = 1024 * 1024
NUMBER = re.compile(r"\d+")
GAUGES = ("mead_sessions", "mead_turns", "mead_connections")


@dataclass(frozen=True)
class Rest:
    """What is held while nobody is there."""

    numbers: dict[str, float]
    handles: Counter[str]
    children: Counter[str]
    names: Counter[str]
    """Greenlets."""
    types: Counter[str]
    files: Counter[str]

    def more_than(self, earlier: "Rest") -> dict[str, Counter[str]]:
        """What there is now and was not then."""
        kinds = ("handles", "children", "names", "types", "files")
        found = {kind: getattr(self, kind) - getattr(earlier, kind) for kind in kinds}
        return {kind: more for kind, more in found.items() if more}


class Sampler:
    """Reads one worker."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._process = psutil.Process(stage.worker())
        self._began = time.monotonic()

    def sample(self) -> dict[str, float]:
        """One number for each thing that must not grow; `at` in seconds."""
        numbers = {"at": time.monotonic() - self._began} | self._outside() | self._gauges()
        return numbers | {name: float(count) for name, count in self._census("count").items()}

    def rest(self) -> Rest:
        """Everything by name."""
        found = self._census("list")
        numbers = self._outside() | self._gauges()
        numbers |= {name: float(found[name]) for name in ("greenlets", "watchers", "objects")}
        return Rest(
            numbers=numbers,
            handles=Counter(map(_plain, self._handles())),
            children=Counter(" ".join(each.cmdline()[1:]) for each in self._children()),
            names=Counter(found["names"]),
            types=Counter(found["types"]),
            files=Counter(_plain(each.name) for each in self._files()),
        )

    def cpu_s(self) -> float:
        """The processor time that the worker has used."""
        times = self._process.cpu_times()
        return times.user + times.system

    def connections(self) -> int:
        """How many connections it counts, the one that asks among them."""
        return int(self._gauges()["connections"])

    def sessions(self) -> int:
        """How many conversations it holds, and places for some that were announced."""
        return int(self._gauges()["sessions"])

    def _outside(self) -> dict[str, float]:
        memory = self._process.memory_full_info()
        return {
            "uss_mib": memory.uss / MIB,
            "rss_mib": memory.rss / MIB,
            "handles": len(self._handles()),
            "threads": self._process.num_threads(),
            "children": len(self._children()),
            "disk_mib": sum(map(_size, self._files())) / MIB,
        }

    def _gauges(self) -> dict[str, float]:
        text = self._stage.server.get("/metrics", headers=AUTHORIZED).text
        values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
        return {name.removeprefix("mead_"): float(values[name]) for name in GAUGES}

    def _census(self, what: str) -> dict[str, Any]:
        with Mcp(self._stage.server) as mcp:
            session_id = mcp.use("start_session", handler="census")["session_id"]
            output = mcp.use("submit_turn", session_id=session_id, input=what)["output"]
            mcp.use("delete_session", session_id=session_id)
            return json.loads(output)

    def _handles(self) -> list[str]:
        found: list[str] = []
        for each in Path(f"/proc/{self._process.pid}/fd").iterdir():
            try:
                found.append(str(each.readlink()))
            except FileNotFoundError:
                continue  # closed meanwhile
        return found

    def _children(self) -> list[psutil.Process]:
        return self._process.children(recursive=True)

    def _files(self) -> list[Path]:
        return [each for each in self._stage.store.rglob("*") if each.is_file()]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0  # deleted meanwhile


def _plain(text: str) -> str:
    return NUMBER.sub("#", text.rsplit("/store/", 1)[-1])
