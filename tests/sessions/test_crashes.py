"""What dies, what comes back, and who never notices.  Source: seed A3."""

import gevent
import pytest

from mead import Mead, errors
from mead.actors.actor import ActorRef
from mead.sessions.supervisor import SessionSupervisor
from tests.helpers.puppet import Puppet
from tests.helpers.waiting import eventually
from tests.sessions.conftest import statuses


def pair_of(mead: Mead, session_id: str) -> SessionSupervisor:
    pair = mead._parts.tree.registry.lookup(session_id)
    assert pair is not None
    return pair


def kill(pair: SessionSupervisor, child: str) -> None:
    """Kill the server or the history for real, and wait until another has taken its place."""
    before = getattr(pair, child)
    before.kill()
    assert eventually(lambda: not pair.alive or _is_new(getattr(pair, child), before))


def _is_new(ref: ActorRef | None, before: ActorRef) -> bool:
    return ref is not None and ref is not before and ref.alive


@pytest.mark.parametrize("child", ["server", "history"])
def test_a_crashed_part_returns_with_the_history(mead: Mead, child: str) -> None:
    session_id = mead.start_session(handler="puppet")
    mead.submit_turn(session_id, "before")
    kill(pair_of(mead, session_id), child)
    assert mead.submit_turn(session_id, "after") == "after"
    assert [turn.input for turn in mead.history(session_id)] == ["before", "after"]


@pytest.mark.parametrize("child", ["server", "history"])
def test_the_running_turn_dies_with_its_server_and_is_interrupted(
    mead: Mead, puppet: Puppet, child: str
) -> None:
    session_id = mead.start_session(handler="puppet")
    callers = [gevent.spawn(mead.submit_turn, session_id, text) for text in ("hold", "waiting")]
    assert eventually(lambda: puppet.started)
    kill(pair_of(mead, session_id), child)
    for caller in callers:
        with pytest.raises(errors.SessionCrashed):
            caller.get(timeout=5)
    assert eventually(lambda: puppet.ended == ["hold"])
    assert statuses(mead, session_id) == ["interrupted"]
    turn = mead.history(session_id)[0]
    assert turn.error is not None
    assert turn.error.code == "interrupted"
    assert turn.finished_at is not None
    assert mead.submit_turn(session_id, "after") == "after"


def test_the_fourth_crash_in_five_seconds_is_the_end_of_that_conversation(mead: Mead) -> None:
    session_id, neighbour = (mead.start_session(handler="puppet") for _ in range(2))
    pair = pair_of(mead, session_id)
    for _ in range(4):
        kill(pair, "server")
    assert eventually(lambda: not pair.alive)
    with pytest.raises(errors.SessionNotFound):
        mead.submit_turn(session_id, "anyone?")
    assert mead.submit_turn(neighbour, "still here") == "still here"
    assert mead.status()["sessions"] == 1


def test_neighbours_under_load_never_notice(mead: Mead) -> None:
    neighbours = [mead.start_session(handler="puppet") for _ in range(5)]
    victims = [mead.start_session(handler="puppet") for _ in range(5)]
    stop = False

    def load(session_id: str) -> int:
        count = 0
        while not stop:
            assert mead.submit_turn(session_id, f"n {count}") == f"n {count}"
            count += 1
        return count

    workers = [gevent.spawn(load, neighbour) for neighbour in neighbours]
    for victim in victims:
        for text in ("raise", "exit", "garbage", "killed"):
            with pytest.raises(errors.TurnFailed):
                mead.submit_turn(victim, text)
        pair = pair_of(mead, victim)
        for _ in range(4):
            kill(pair, "server")
    stop = True
    for worker, neighbour in zip(workers, neighbours, strict=True):
        count = worker.get(timeout=5)
        assert count > 0
        assert statuses(mead, neighbour) == ["completed"] * count


def test_a_call_during_the_restart_waits_for_it(mead: Mead) -> None:
    session_id = mead.start_session(handler="puppet")
    server = pair_of(mead, session_id).server
    assert server is not None
    server.kill()
    gevent.sleep(0)
    assert mead.submit_turn(session_id, "at once") == "at once"


def test_a_dead_registry_takes_the_tree_behind_it_along_and_mead_goes_on(mead: Mead) -> None:
    session_id = mead.start_session()
    tree = mead._parts.tree
    pool = tree.sessions
    registry = tree.child("registry")
    assert registry is not None
    registry.stop()
    assert eventually(lambda: tree.sessions not in (None, pool))
    with pytest.raises(errors.SessionNotFound):
        mead.history(session_id)
    assert mead.submit_turn(mead.start_session(), "new") == "new"


def test_a_tree_that_gives_up_tells_its_owner_and_ends_nothing_else(mead: Mead) -> None:
    ends: list[str] = []
    mead.on_end(lambda exit_: ends.append(exit_.kind))
    tree = mead._parts.tree
    while tree.alive:
        registry = tree.child("registry")
        if registry is not None:
            registry.stop()
        gevent.sleep(0)
    assert eventually(lambda: ends == ["crashed"])
    with pytest.raises(errors.SessionStopped):
        mead.start_session()
