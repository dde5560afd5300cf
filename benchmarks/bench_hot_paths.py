"""What a turn, an appended event and a streamed token cost.

`.venv/bin/python -m benchmarks.bench_hot_paths`; instructions are counted where valgrind is
installed.  They hardly depend on the machine or on what else it does, so two versions of the code
can be compared by them: `... bench_hot_paths --instructions`, some minutes.
"""

import re
import shutil
import subprocess
import sys

from benchmarks.report import figure, header, note

PATHS = {
    "turn": ("a routed, stored turn of a model that answers at once", 2000, 250.0),
    "event": ("an event: numbered, logged, applied, given to a device", 20_000, 12.0),
    "answer": ("a turn on a deck of 20 tokens from a model's server", 600, 3000.0),
    "token": ("a token: from the model's bytes to the deck and the log", 20, 25.0),
}
"""What each is, how often it is run, and the most microseconds of a processor that it may take."""
ROUNDS = 5
COUNTED = {"turn": (100, 500), "event": (1000, 5000), "answer": (20, 60), "token": (1, 5)}
"""Runs of two lengths, whose difference holds no start-up."""
TOKENS = 1000


def main() -> None:
    header("the hot paths")
    for name, (what, operations, most_us) in PATHS.items():
        spent_us = min(float(run(name, operations)) for _ in range(ROUNDS))
        figure(what, f"{spent_us:.1f} us", f"under {most_us:g} us", met=spent_us < most_us)
    if "--instructions" in sys.argv[1:]:
        for name, (what, _, _) in PATHS.items():
            note(f"{what}: {instructions(name)}")


def run(name: str, operations: int, *before: str) -> str:
    """What the path prints; for valgrind, what that says."""
    command = [*before, sys.executable, "-m", "benchmarks.hot_paths", name, str(operations)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    return ended.stderr if before else ended.stdout


def instructions(name: str) -> str:
    """How many one takes, of this process."""
    if shutil.which("valgrind") is None:
        return "not counted: valgrind is not installed"
    valgrind = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    counts: list[int] = []
    for operations in COUNTED[name]:
        found = re.search(r"Collected : (\d+)", run(name, operations, *valgrind))
        assert found is not None
        counts.append(int(found[1]))
    fewer, more = COUNTED[name]
    each = (more - fewer) * (TOKENS if name == "token" else 1)
    return f"{(counts[1] - counts[0]) // each:,} instructions"


if __name__ == "__main__":
    main()
