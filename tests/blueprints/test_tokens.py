import pytest

from blueprints.tokens import ADDRESSES, WrongTokens, bearer, matches_any


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("bearer abc", "abc"),
        ("Bearer  abc ", "abc"),
        ("Bearer a b", "a b"),
        (None, None),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Basic abc", None),
        ("abc", None),
    ],
)
def test_a_bearer_token_is_found_in_its_header(header, token):
    assert bearer(header) == token


def test_every_matcher_is_asked():
    asked = []

    def matcher(answer):
        return lambda token: asked.append(token) or answer

    assert matches_any("x", [matcher(False), matcher(True), matcher(False)])
    assert not matches_any("y", [matcher(False)])
    assert asked == ["x", "x", "x", "y"]


def test_ten_wrong_tokens_a_minute_are_borne():
    clock = Clock()
    wrong = WrongTokens(clock)
    assert all(wrong.count("1.1.1.1") for _ in range(10))
    assert not wrong.count("1.1.1.1")
    assert not wrong.count("1.1.1.1")
    assert wrong.count("2.2.2.2")
    clock.now += 61
    assert wrong.count("1.1.1.1")
    assert wrong.total == 14


def test_addresses_of_one_home_count_together():
    wrong = WrongTokens(Clock())
    for last in range(10):
        assert wrong.count(f"2001:db8:1:2::{last}")
    assert not wrong.count("2001:db8:1:2:ffff::1")
    assert wrong.count("2001:db8:1:3::1")


def test_the_memory_for_addresses_is_bounded():
    wrong = WrongTokens(Clock())
    for number in range(ADDRESSES + 5):
        wrong.count(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(wrong._times) == ADDRESSES
