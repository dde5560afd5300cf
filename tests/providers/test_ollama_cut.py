"""When is a prompt known to have been cut?  Spec: section 5, `truncated_prompt`."""

import pytest

from mead.providers.ollama_cut import least_tokens, was_cut
from mead.providers.shape import Json, dumped

WORDS = "one two three four five six seven eight nine ten "


def cut(count: int | None, *texts: str, num_ctx: int = 100) -> bool:
    messages = [{"role": "user", "content": text} for text in texts]
    request: Json = {"messages": messages, "options": {"num_ctx": num_ctx}}
    body = {} if count is None else {"prompt_eval_count": count}
    return was_cut(body, request, len(dumped(request)))


def test_a_count_that_fills_the_context_shows_a_cut():
    assert cut(100, "short")
    assert not cut(99, "short")


def test_fewer_tokens_than_words_show_a_cut():
    assert cut(80, WORDS * 9)
    assert not cut(90, WORDS * 9)


def test_a_small_count_for_a_small_prompt_shows_a_cache_and_no_cut():
    """ollama#3427: older versions count only what was not cached."""
    assert not cut(1, WORDS, num_ctx=8192)


def test_without_a_count_only_a_prompt_beyond_the_context_was_cut():
    """ollama#2068: the count may be missing."""
    assert not cut(None, WORDS * 9)
    assert cut(None, WORDS * 11)


def test_the_words_of_all_messages_count():
    assert cut(80, WORDS * 5, WORDS * 5)


def test_a_language_without_spaces_is_measured_in_bytes():
    text = "蜂蜜酒は世界最古の酒とされる。" * 40
    assert cut(50, text)
    assert not cut(200, text, num_ctx=300)


@pytest.mark.parametrize("run", [" ", "-", "=", "\n", "a"])
def test_a_run_of_one_character_may_be_a_few_tokens(run):
    assert least_tokens([{"role": "user", "content": run * 100_000}]) <= 1


def test_a_system_prompt_and_tool_results_count_too():
    request: Json = {
        "messages": [
            {"role": "system", "content": WORDS * 5},
            {"role": "user", "content": "hi"},
            {"role": "tool", "content": WORDS * 5},
        ],
        "options": {"num_ctx": 90},
    }
    assert was_cut({"prompt_eval_count": 60}, request, len(dumped(request)))
