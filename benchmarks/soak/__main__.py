"""The soak: `python -m benchmarks.soak [--seconds 3600]`.  Exits with 1 if anything grew."""

from gevent import monkey

monkey.patch_all()

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gevent

from benchmarks.report import header, note
from benchmarks.soak.devices import Away, Phone, Silent, Slow
from benchmarks.soak.mcp import Mcp
from benchmarks.soak.others import Operator, Reaper, Stranger
from benchmarks.soak.player import Player
from benchmarks.soak.programs import Guest, Hasty, Talker
from benchmarks.soak.samples import Rest, Sampler
from benchmarks.soak.stage import Stage, standing
from benchmarks.soak.tally import Tally
from benchmarks.soak.verdict import Finding, at_rest, under_load

Cast = tuple[tuple[type[Player], int], ...]
"""Which players, and how many of each."""
CAST: Cast = (
    (Talker, 4),
    (Phone, 4),
    (Hasty, 1),
    (Away, 1),
    (Silent, 1),
    (Slow, 1),
    (Stranger, 1),
    (Reaper, 1),
    (Operator, 1),
)
WARM_UP = 0.25
"""Of the whole time: what is bounded fills up meanwhile."""
SAMPLES = 240
TOLD = 24
"""So many samples make a line, for who watches."""
COMING_S = 5.0
"""Until all players are in the middle of something."""
LEAVE_S = 120.0
SETTLE_S = 30.0
FAULTS = ("[ERROR]", "[CRITICAL]", "Traceback")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("SOAK_SECONDS", "3600")))
    parser.add_argument("--handler", help="package.module:Class, whose turns run beside the rest")
    parser.add_argument("--alone", action="store_true", help="that handler's turns and no others")
    options = parser.parse_args()
    header(f"the soak, {options.seconds} s", "gunicorn", "Flask", "websockets")
    handlers = {} if options.handler is None else {Guest.handler: options.handler}
    with tempfile.TemporaryDirectory() as name, standing(Path(name), handlers) as stage:
        guests = ((Guest, 2),) if handlers else ()
        cast = guests if options.alone else (*CAST, *guests)
        is_good = Soak(stage, options.seconds, cast).run()
    sys.exit(not is_good)


class Soak:
    """One run on a standing stage."""

    def __init__(self, stage: Stage, seconds: int, cast: Cast) -> None:
        self.stage = stage
        self.seconds = seconds
        self.cast = cast
        self.tally = Tally()
        self.sampler = Sampler(stage)

    def run(self) -> bool:
        """Whether all was well; prints the report."""
        warm_up_s = WARM_UP * self.seconds
        with self.playing(1):
            gevent.sleep(warm_up_s)
        before = self.rest()
        with self.playing(2):
            gevent.sleep(COMING_S)
            samples = self.watched(self.seconds - warm_up_s - COMING_S)
        after = self.rest()
        return self.report(samples, before, after)

    @contextmanager
    def playing(self, seed: int) -> Iterator[None]:
        """All players, until the block ends and each has gone home."""
        players = [
            kind(self.stage, self.tally, 1000 * seed + number)
            for number, kind in enumerate(kind for kind, count in self.cast for _ in range(count))
        ]
        running = [gevent.spawn(player.run) for player in players]
        yield
        for player in players:
            player.leaving.set()
        gevent.joinall(running, timeout=LEAVE_S)
        for player, one in zip(players, running, strict=True):
            if not one.ready():
                self.tally.fault(type(player).__name__, "did not come to its end")

    def watched(self, duration_s: float) -> list[dict[str, float]]:
        """Samples at even distances; the shares of a core that were used are printed."""
        every_s = max(1.0, duration_s / SAMPLES)
        ends = time.monotonic() + duration_s
        samples: list[dict[str, float]] = []
        ours, theirs = time.process_time(), self.sampler.cpu_s()
        while time.monotonic() < ends:
            samples.append(self.sampler.sample())
            if len(samples) % TOLD == 0:
                self.tell(samples[-1])
            gevent.sleep(every_s)
        ours, theirs = time.process_time() - ours, self.sampler.cpu_s() - theirs
        note(f"worker {theirs / duration_s:.1%} of a core, clients {ours / duration_s:.1%}")
        return samples

    def tell(self, sample: dict[str, float]) -> None:
        right, wrong = sum(self.tally.right.values()), self.tally.wrong_count
        print(
            f"     {sample['at']:.0f} s: {sample['uss_mib']:.1f} MiB,"
            f" {sample['handles']:.0f} handles, {sample['greenlets']:.0f} greenlets,"
            f" {right:,} answers right, {wrong} wrong",
            flush=True,
        )

    def rest(self) -> Rest:
        """What is held once nobody is there."""
        limit = time.monotonic() + SETTLE_S
        while self.sampler.connections() > 1 and time.monotonic() < limit:
            gevent.sleep(0.5)
        self.clear()
        limit = time.monotonic() + SETTLE_S
        while self.sampler.sessions() and time.monotonic() < limit:
            gevent.sleep(0.5)  # a ticket that nobody used holds a place until it expires
        gevent.sleep(2)
        return self.sampler.rest()

    def clear(self) -> None:
        """Delete what rounds that broke have left: they are counted as wrong, and are no leak."""
        with Mcp(self.stage.server) as mcp:
            left = mcp.use("list_sessions")["sessions"]
            if left and not self.tally.wrong_count:
                self.tally.fault("left", f"{len(left)} conversations that nobody has")
            for each in left:
                mcp.use("delete_session", session_id=each["session_id"])

    def report(self, samples: list[dict[str, float]], before: Rest, after: Rest) -> bool:
        window_s = samples[-1]["at"] - samples[0]["at"]
        findings = [*under_load(samples), *at_rest(before.numbers, after.numbers, window_s)]
        note(f"{len(samples)} samples in {window_s:.0f} s; first, middle and last:")
        for name in samples[0]:
            series = [each[name] for each in samples]
            shown = (series[0], series[len(series) // 2], series[-1], min(series), max(series))
            note(f"  {name:12} " + " ".join(f"{value:9.1f}" for value in shown))
        shown = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.tally.right.items()))
        note(f"{sum(self.tally.right.values()):,} answers right: {shown}")
        bad = [finding for finding in findings if not finding.is_good]
        for finding in findings:
            line(finding, window_s)
        if bad:
            for kind, more in after.more_than(before).items():
                note(f"more {kind}: {dict(more.most_common(25))}")
        faults = self.faults()
        for text in (*self.tally.wrong, *faults[:10]):
            note(text)
        count = self.tally.wrong_count
        print(f"{'ok  ' if not count else 'MISS'} wrong answers: {count}")
        print(f"{'ok  ' if not faults else 'MISS'} errors in the log: {len(faults)}")
        return not (bad or count or faults)

    def faults(self) -> list[str]:
        """Lines of the server's log that should not be there."""
        lines = self.stage.server.lines
        return [text for text in lines if any(mark in text for mark in FAULTS)]


def line(finding: Finding, window_s: float) -> None:
    """One line of the report."""
    mark = "ok  " if finding.is_good else "MISS"
    unit = f" {finding.unit}" if finding.unit else ""
    print(f"{mark} {finding.name}: {finding.grew:+.2f}{unit} (allowed: {finding.allowed:.1f})")


if __name__ == "__main__":
    main()
