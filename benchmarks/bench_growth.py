"""How cost grows over three decades.  `.venv/bin/python -m benchmarks.bench_growth [SUBJECT...]`

Each subject runs in a process of its own.  The cost is processor time, or memory; the figure is the
exponent of a line through the logarithms: 0 is constant, 1 is linear.  `--tiny` takes two small
sizes, to see that it works.
"""

from gevent import monkey

monkey.patch_all()

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

from benchmarks.growth import deck, sessions, stored, tools, turns
from benchmarks.growth.fit import LINEAR, Curve
from benchmarks.report import figure, header

Subject = Callable[[Sequence[int]], Iterator[Curve]]
SUBJECTS: dict[str, tuple[Subject, Sequence[int]]] = {
    "turns": (turns.curves, turns.SIZES),
    "sessions": (sessions.curves, sessions.SIZES),
    "sockets": (deck.sockets, deck.SOCKETS),
    "events": (deck.events, deck.EVENTS),
    "stored": (stored.curves, stored.SIZES),
    "tools": (tools.curves, tools.SIZES),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_growth")
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--tiny", action="store_true", help="the two smallest sizes")
    parser.add_argument("--one", action="store_true", help="in this process, without a header")
    options = parser.parse_args()
    subjects = options.subjects or list(SUBJECTS)
    if options.one:
        for name in subjects:
            show(name, tiny=options.tiny)
        return
    header("how cost grows", "gunicorn")
    for name in subjects:
        print(f"-- {name}", flush=True)
        more = ["--tiny"] if options.tiny else []
        command = [sys.executable, "-m", "benchmarks.bench_growth", name, "--one", *more]
        subprocess.run(command, check=True)


def show(name: str, *, tiny: bool) -> None:
    """The figures of one subject."""
    curves, sizes = SUBJECTS[name]
    for curve in curves(sizes[:2] if tiny else sizes):
        target = "linear at most" if curve.order == LINEAR else "constant"
        figure(curve.name, str(curve), target, met=curve.is_good)


if __name__ == "__main__":
    main()
