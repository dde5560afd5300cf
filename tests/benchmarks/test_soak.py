"""The soak for a minute, and the proof that it would find what leaks."""

import re
import subprocess
import sys

import pytest

from tests.helpers.server import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def soak(*arguments: str) -> tuple[int, str]:
    """Exit status and report."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=500,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def grown(report: str) -> set[str]:
    """What the report says grew."""
    return set(re.findall(r"^MISS ([a-z_ ]+):", report, re.MULTILINE))


def test_a_minute_of_everything_leaves_nothing_behind():
    status, report = soak("--seconds", "60")
    assert (status, grown(report)) == (0, set()), report
    for kind in ("say", "resumed", "came back", "timeout", "turn cancelled", "deleted", "idle"):
        assert re.search(rf"\b{kind} \d", report), report


@pytest.mark.parametrize(
    ("handler", "names"),
    [
        ("Leaky", {"uss_mib", "rss_mib"}),
        ("Greenlets", {"greenlets", "greenlets at rest"}),
        ("Handles", {"handles", "handles at rest"}),
    ],
)
def test_a_handler_that_keeps_something_of_each_turn_is_found(handler, names):
    status, report = soak(
        "--seconds", "20", "--alone", "--handler", f"tests.benchmarks.leaky:{handler}"
    )
    assert (status, "wrong answers: 0" in report) == (1, True), report
    assert names <= grown(report), report
