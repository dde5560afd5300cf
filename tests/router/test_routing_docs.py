"""docs/routing.md says what the code does."""

import re
import tomllib
from pathlib import Path

from mead.config import ClassifierSettings
from mead.router import ask_user, doubt_words, router, scan, tool_call
from mead.router.classifier import classify
from mead.router.progress import CUT_CALL_WARNING
from mead.router.routine_words import ROUTINES
from mead.router.tool_loop import MAXIMUM_MODEL_CALLS

DOCS = (Path(__file__).parents[2] / "docs" / "routing.md").read_text()
PLAIN = " ".join(DOCS.split())
EXAMPLES = re.findall(r"^\| `(.+?)` \| (local|cloud) \| (.+?) \|$", DOCS, re.MULTILINE)


def test_every_example_is_routed_as_the_page_says() -> None:
    assert len(EXAMPLES) == 18
    for text, route, reason in EXAMPLES:
        found = classify(text, turns=0, history_characters=0, settings=ClassifierSettings())
        assert (found.route, found.reason) == (route, reason), text


def test_every_reason_is_on_the_page() -> None:
    reasons = {
        *(routine.reason for routine in ROUTINES),
        scan.FOREIGN_LANGUAGE,
        scan.IDLE_QUESTION,
        scan.MUCH_ELSE,
        scan.NOTHING_ROUTINE,
        scan.OTHER_REQUEST,
        scan.TANGLED,
        scan.UNMET,
        router.FORCED,
        router.DEFAULT,
        "contains a block of code",
        "contains control characters",
        "asks for what the operator calls routine",
        "input longer than 400 characters",
        "history of more than 20 turns",
        "history longer than 8000 characters",
    }
    assert {reason for reason in reasons if reason not in PLAIN} == set()


def test_the_words_named_as_reasoning_are_on_the_list() -> None:
    (named,) = re.findall(r"does not ask for reasoning: (.+?), and their like", PLAIN)
    words = {word.replace("-", " ") for word in named.split(", ")}
    assert len(words) == 12
    assert words <= doubt_words.REASONING


def test_the_words_of_the_operator_on_the_page_work() -> None:
    (block,) = re.findall(r"```toml\n(.+?)```", DOCS, re.DOTALL)
    own = tomllib.loads(block)["router"]["classifier"]
    settings = ClassifierSettings(**{name: tuple(words) for name, words in own.items()})
    for words, route in ((settings.local_words, "local"), (settings.cloud_words, "cloud")):
        for word in words:
            found = classify(word.upper(), turns=0, history_characters=0, settings=settings)
            assert found.route == route
            assert found.reason != scan.NOTHING_ROUTINE


def test_the_defaults_and_limits_on_the_page_are_the_codes() -> None:
    settings = ClassifierSettings()
    assert f"at most {settings.maximum_characters} characters" in PLAIN
    assert f"at most {settings.maximum_turns} completed turns" in PLAIN
    assert f"and {settings.maximum_history_characters} characters of prompts" in PLAIN
    assert f"above {scan.MAXIMUM_STEPS} words and signs" in PLAIN
    assert MAXIMUM_MODEL_CALLS == 8
    assert "After eight model calls" in PLAIN
    assert f"up to {ask_user.MAXIMUM_PROMPT_CHARACTERS} characters" in PLAIN
    assert f"up to {ask_user.MAXIMUM_OPTION_CHARACTERS} characters each" in PLAIN


def test_what_a_model_is_told_is_on_the_page_word_for_word() -> None:
    for text in (
        *(tool_call.DENIED.text, ask_user.NOT_IN_TIME, f"{ask_user.NOT_ASKED}."),
        CUT_CALL_WARNING,
    ):
        assert f"`{text}`" in PLAIN
