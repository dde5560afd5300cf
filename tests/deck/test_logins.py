"""Login codes and access tokens: what is kept, and for how long."""

import hashlib
import stat

import pytest

from mead.deck.logins import CODE_S, LIVE_CODES, LIVE_TOKENS, TOKEN_S, Logins
from mead.errors import PersistenceError
from mead.storage.disk import RealDisk
from mead.storage.private_file import PrivateFile


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deck-logins.json"


@pytest.fixture
def make(path, clock):
    disk = RealDisk()
    yield lambda: Logins(PrivateFile(disk, path), clock)
    disk.close()


def test_a_code_is_128_random_bits_and_its_token_256(make):
    logins = make()
    code = logins.new_code()
    assert len(code) == 22
    assert len(logins.login(code).token) == 43
    assert logins.new_code() != logins.new_code()


def test_the_file_is_private_and_holds_no_secret(make, path):
    logins = make()
    code, spent = logins.new_code(), logins.new_code()
    token = logins.login(spent).token
    text = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [secret for secret in (code, spent, token) if secret in text]
    assert hashlib.sha256(token.encode()).hexdigest() in text


def test_a_code_outlives_the_process_that_made_it_and_is_good_once(make, clock):
    code = make().new_code()
    clock.now += CODE_S - 1
    logins = make()
    assert logins.login(code) is not None
    assert logins.login(code) is None
    assert make().login(code) is None


def test_a_code_ends_after_ten_minutes(make, clock):
    logins = make()
    code = logins.new_code()
    clock.now += CODE_S
    assert logins.login(code) is None


def test_a_token_ends_after_thirty_days(make, clock):
    logins = make()
    login = logins.login(logins.new_code())
    clock.now += TOKEN_S - 1
    assert make().matches(login.token)
    clock.now += 1
    assert not logins.matches(login.token)
    assert not make().matches(login.token)
    assert logins.revoke() == 0


def test_of_too_many_codes_or_tokens_the_oldest_go(make):
    logins = make()
    codes = [logins.new_code() for _ in range(LIVE_CODES + 1)]
    assert logins.login(codes[0]) is None
    tokens = [logins.login(logins.new_code()).token for _ in range(LIVE_TOKENS + 1)]
    assert not logins.matches(tokens[0])
    assert logins.matches(tokens[1])
    assert logins.revoke() == LIVE_TOKENS


@pytest.mark.parametrize("token", ["", "é", "\udcff", "a" * 100_000])
def test_any_text_may_be_asked_for(make, token):
    logins = make()
    logins.login(logins.new_code())
    assert not logins.matches(token)
    assert logins.login(token) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"codes": 1, "tokens": {}}', b"\xff", b"{}"])
def test_a_damaged_file_lets_nobody_in_and_is_replaced(make, path, data, caplog):
    path.write_bytes(data)
    logins = make()
    assert "has to log in again" in caplog.text
    token = logins.login(logins.new_code()).token
    assert make().matches(token)


def test_a_disk_that_refuses_leaves_the_code_good_and_makes_no_token(make, path, tmp_path):
    logins = make()
    code = logins.new_code()
    draft = tmp_path / "deck-logins.json.tmp"
    draft.mkdir()
    with pytest.raises(PersistenceError):
        logins.login(code)
    draft.rmdir()
    assert logins.login(code) is not None


def test_without_a_file_logins_live_as_long_as_the_process():
    logins = Logins(None)
    assert logins.matches(logins.login(logins.new_code()).token)
