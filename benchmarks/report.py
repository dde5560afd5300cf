"""What every benchmark prints: the machine, the date, and a line for each figure.

A figure is a ratio of two measurements of one run wherever that is possible, because two runs on a
busy machine cannot be compared.  Nothing here fails a build.
"""

import datetime
import os
import platform
from importlib.metadata import version
from pathlib import Path


def header(title: str, *packages: str) -> None:
    """The benchmark's name, the date, the machine and the versions that matter."""
    print(f"== {title}")
    print(f"   {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC, {machine()}")
    print("   " + ", ".join(f"{name} {version(name)}" for name in ("gevent", *packages)))


def machine() -> str:
    """Processor, cores, load and Python, in one line."""
    load = os.getloadavg()[0]
    return (
        f"{_processor()}, {os.cpu_count()} cores (load {load:.1f}), Python"
        f" {platform.python_version()}"
    )


def figure(name: str, value: str, target: str, *, met: bool) -> None:
    """One figure, what it should be, and whether it is."""
    print(f"{'ok  ' if met else 'MISS'} {name}: {value} (target: {target})")


def note(text: str) -> None:
    """Something measured that has no target."""
    print(f"     {text}")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
