"""Every benchmark, one after another: `make bench`, or `.venv/bin/python -m benchmarks [NAME...]`.

NAME is what follows `bench_`; options after `--` go to each.  What they print is shown as it comes;
at the end stands what was missed and what was skipped.
"""

import subprocess
import sys
from pathlib import Path

from benchmarks.servers import ROOT

ALL = sorted(file.stem.removeprefix("bench_") for file in Path(__file__).parent.glob("bench_*.py"))


def main(arguments: list[str]) -> int:
    """The exit status: 1 if a benchmark broke, whatever its figures are."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:split] or ALL, arguments[split + 1 :]
    if unknown := sorted(set(names) - set(ALL)):
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(ALL)}")
        return 2
    lines: list[str] = []
    broken = [name for name in names if run(name, options, lines)]
    kept = [line for line in lines if line.startswith(("MISS", "skipped"))]
    figures = sum(line.startswith(("ok  ", "MISS")) for line in lines)
    missed = sum(line.startswith("MISS") for line in kept)
    print(f"== {len(names)} benchmarks, {figures} figures, {missed} missed")
    print("\n".join([*kept, *(f"broken: {name}" for name in broken)]))
    return 1 if broken else 0


def run(name: str, options: list[str], lines: list[str]) -> int:
    """One, line by line; its exit status."""
    command = [sys.executable, "-m", f"benchmarks.bench_{name}", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
