"""Where a turn of the embedded model went, as it and the person are told.  Spec: section 3."""

import pytest

from mead.errors import TurnFailed
from mead.providers.embedded import EmbeddedProvider
from mead.providers.guarded import GuardedProvider
from tests.helpers.embedded import child_of
from tests.helpers.routing import Person, Setting, make_router


def local(provider: EmbeddedProvider):
    """A router whose local slot it fills, and a watched turn's setting."""
    return make_router({"local": GuardedProvider(provider)}), Setting(person=Person())


def hosts(setting: Setting) -> list[str | None]:
    return [setting.person.of("routed")[0][1].host, setting.facts.host]


def test_a_turn_that_comes_before_the_server_is_up_says_where_it_went(start):
    provider = start()
    assert provider.host is None
    router, setting = local(provider)
    assert router.handle_turn((), "hello", setting.context)
    assert hosts(setting) == [provider.host, provider.host]
    assert provider.host.startswith("127.0.0.1:")


def test_a_server_that_ends_after_its_answer_is_still_where_the_turn_went(start):
    provider = start()
    child = child_of(provider)
    before = provider.host
    router, setting = local(provider)
    answer = provider._at

    def last(*given):
        reply = answer(*given)
        child.kill()
        provider.endpoint.wait(5000, other_than=provider.endpoint.address)
        return reply

    provider._at = last
    assert router.handle_turn((), "hello", setting.context)
    assert provider.host != before
    assert hosts(setting) == [before, before]


def test_a_turn_whose_server_never_came_up_went_nowhere(start, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    router, setting = local(start(model_file=broken))
    with pytest.raises(TurnFailed, match="could not be loaded"):
        router.handle_turn((), "hello", setting.context)
    assert hosts(setting) == [None, None]
