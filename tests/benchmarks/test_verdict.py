import random

import pytest

from benchmarks.soak.verdict import COUNTED, at_rest, memory_allowed, slope, under_load

HOUR = 2700
MINUTE = 40
EVERY = 11.25


def samples(window_s: float = HOUR, **rises: float) -> list[dict[str, float]]:
    """A steady load with noise; each of `rises` rises by so much over the window."""
    chance = random.Random(7)
    made = []
    for step in range(int(window_s / EVERY)):
        at = step * EVERY
        values = {name: 50 + chance.uniform(-10, 10) for name in COUNTED}
        values |= {"sessions": 9 + chance.uniform(-4, 4), "disk_mib": chance.uniform(0, 2)}
        values |= {"uss_mib": 70 + chance.uniform(-4, 4), "rss_mib": 80 + chance.uniform(-4, 4)}
        for name, rise in rises.items():
            values[name] += rise * at / window_s
        made.append({"at": at, **values})
    return made


def grown(findings) -> list[str]:
    return [finding.name for finding in findings if not finding.is_good]


def test_the_slope_of_a_line_is_found_exactly():
    assert slope([(x, 3 + 0.5 * x) for x in range(10)]) == pytest.approx(0.5)


def test_too_few_points_have_no_slope():
    assert slope([]) == slope([(1, 5)]) == slope([(1, 5), (1, 9)]) == 0


def test_a_steady_load_passes_whatever_its_noise():
    assert grown(under_load(samples())) == []


def test_five_mebibytes_in_an_hours_window_are_found():
    assert grown(under_load(samples(uss_mib=5))) == ["uss_mib"]


@pytest.mark.parametrize("name", COUNTED)
def test_a_count_that_grows_by_half_is_found(name):
    assert grown(under_load(samples(**{name: 30}))) == [name]


def test_a_short_soak_forgives_what_an_allocator_still_takes_and_a_long_one_does_not():
    assert memory_allowed(40) > 30
    assert memory_allowed(3600) == 4


def test_one_child_more_at_rest_is_found():
    rest = {
        "handles": 25,
        "threads": 8,
        "greenlets": 15,
        "watchers": 17,
        "children": 4,
        "sessions": 0,
        "connections": 1,
        "objects": 90_000,
    }
    assert grown(at_rest(rest, rest, HOUR)) == []
    assert grown(at_rest(rest, {**rest, "children": 5}, HOUR)) == ["children at rest"]
    assert grown(at_rest(rest, {**rest, "greenlets": 20}, HOUR)) == ["greenlets at rest"]
    assert grown(at_rest(rest, {**rest, "objects": 99_000}, HOUR)) == ["objects at rest"]
    assert grown(at_rest(rest, {**rest, "threads": 14}, HOUR)) == ["threads at rest"]
    assert grown(at_rest(rest, {**rest, "threads": 14}, MINUTE)) == []
