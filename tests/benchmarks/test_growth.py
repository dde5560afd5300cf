"""bench_growth at its smallest, so that it goes on running, and the exponents it is judged by."""

import re
import subprocess
import sys

import pytest

from benchmarks.growth.fit import CONSTANT, LINEAR, Curve
from tests.helpers.server import ROOT


def curve(order: float, *costs: float) -> Curve:
    return Curve("a cost", "us", order, [(10**place, cost) for place, cost in enumerate(costs)])


def test_exponents_are_those_of_the_curve():
    assert curve(LINEAR, 3, 30, 300).exponent == pytest.approx(1)
    assert curve(LINEAR, 7, 7, 7).exponent == pytest.approx(0)
    assert curve(LINEAR, 2, 200, 20_000).exponent == pytest.approx(2)


def test_a_linear_cost_is_good_where_it_may_be_linear_and_not_where_it_is_to_be_constant():
    assert curve(LINEAR, 3, 30, 300).is_good
    assert not curve(CONSTANT, 3, 30, 300).is_good


def test_a_square_is_seen_also_when_it_shows_only_in_the_last_decade():
    assert not curve(LINEAR, 1000, 1001, 1100, 11_000, 1_010_000).is_good


def test_a_processors_caches_are_no_square():
    assert curve(LINEAR, 1, 10, 100, 1800).is_good


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("subject", "figures"),
    [("turns", 5), ("sessions", 8), ("sockets", 2), ("events", 3), ("stored", 3), ("tools", 5)],
)
def test_every_subject_is_measured(subject, figures):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_growth", subject, "--tiny"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=160,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^(?:ok  |MISS) ", done.stdout, re.MULTILINE)) == figures, done.stdout
