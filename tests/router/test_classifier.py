"""The classifier against its corpus, its limits, and texts that nobody would write."""

import tomllib
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.config import ClassifierSettings
from mead.router.classifier import Verdict, classify

CORPUS = Path(__file__).parent / "corpus.toml"
GROUPS: list[dict[str, Any]] = tomllib.loads(CORPUS.read_text())["group"]
EXAMPLES = [(group["route"], text) for group in GROUPS for text in group["texts"]]


def verdict(text: str, turns: int = 0, history: int = 0, **settings: Any) -> Verdict:
    return classify(
        text,
        turns=turns,
        history_characters=history,
        settings=ClassifierSettings(**settings),
    )


# -- the corpus ------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group['route']}-{group['subject']}")
def test_every_prompt_of_the_corpus_goes_where_its_label_says(group: dict[str, Any]) -> None:
    astray = {text: verdict(text) for text in group["texts"] if _astray(text, group["route"])}
    assert astray == {}


def _astray(text: str, route: str) -> bool:
    return verdict(text).route != route


def test_the_corpus_is_large_and_has_both_routes_in_three_languages() -> None:
    assert len(EXAMPLES) >= 600
    assert len({text for _, text in EXAMPLES}) == len(EXAMPLES)
    for language in ("en", "pt", "es"):
        assert {g["route"] for g in GROUPS if g["language"] == language} == {"local", "cloud"}


@pytest.mark.parametrize("added", ["and explain why", "e explica porquê", "y explica por qué"])
def test_a_reasoning_clause_behind_any_routine_request_sends_it_to_the_cloud(added: str) -> None:
    # A quotation or given text may hide what follows it; a clause before it cannot be hidden.
    kept = [
        text
        for route, text in EXAMPLES
        if route == "local" and verdict(f"{added}. {text}").route == "local"
    ]
    assert kept == []


def test_case_and_the_form_of_accents_make_no_difference() -> None:
    for _, text in EXAMPLES:
        found = verdict(text)
        assert verdict(unicodedata.normalize("NFD", text)).route == found.route, text
        if found.reason != "contains a block of code":
            assert verdict(text.upper()).route == found.route, text


# -- limits ----------------------------------------------------------------------------------------

ROUTINE = "Format this as a table: "


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({"text": ROUTINE.ljust(401, "a")}, "input longer than 400 characters"),
        ({"turns": 21}, "history of more than 20 turns"),
        ({"history": 8001}, "history longer than 8000 characters"),
    ],
)
def test_one_step_over_a_limit_is_the_cloud(sizes: dict[str, Any], reason: str) -> None:
    assert verdict(**{"text": ROUTINE + "a, b"} | sizes) == Verdict("cloud", reason)


def test_everything_at_its_limit_is_still_local() -> None:
    assert verdict(ROUTINE.ljust(400, "a"), turns=20, history=8000).route == "local"


def test_the_limits_are_the_operators() -> None:
    short = {"maximum_characters": 10, "maximum_turns": 0, "maximum_history_characters": 0}
    assert verdict("status", **short).route == "local"
    assert verdict("list files ", **short).reason == "input longer than 10 characters"
    assert verdict("status", turns=1, **short).reason == "history of more than 0 turns"
    assert verdict("status", history=1, **short).reason == "history longer than 0 characters"


# -- reasons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Format this as JSON: name Ana", "asks for formatting"),
        ("Extract the dates from this: 3 May", "asks for extraction"),
        ("Is this email spam: buy now", "asks for triage"),
        ("Translate to Spanish: good morning", "asks for a translation"),
        ("Fix the spelling: helo", "asks for a short rewrite"),
        ("What time is it?", "asks for a lookup"),
        ("Is the server up?", "asks for a status check"),
        ("Turn off the lights", "gives a command"),
        ("Why is the sky blue?", "asks for reasoning: why"),
        ("List the pros and cons of tea", "asks for reasoning: pros"),
        (
            "Format this list and explainn it",
            "may ask for reasoning: explain",
        ),
        ("Hello there", "no routine request recognised"),
        (
            "Rewrite the kernel",
            "a request without the text or thing that would make it routine",
        ),
        ("Open the file. Is honesty a virtue?", "holds a question that is not routine"),
        ("Open the file and teach it manners", "asks for something that is not routine"),
        (
            "Open the file about Ana Rui Carla Nuno Pedro Marta",
            "says much beside a routine request",
        ),
        ("Bitte liste die Dateien", "in a language other than English, Portuguese or Spanish"),
        (
            "Remind me to " + " ".join(f"w{n}" for n in range(41)),
            "says much beside a routine request",
        ),
        ("Is it, " * 50, "more clauses than a routine request has"),
        ("\ufdfa" * 21, "input longer than 400 characters"),
        ("½" * 201, "input longer than 400 characters"),
        ("Format this:\n```\nx\n```", "contains a block of code"),
        ("list\x00files", "contains control characters"),
    ],
)
def test_the_reason_says_what_was_seen(text: str, reason: str) -> None:
    assert verdict(text).reason == reason


@given(st.sampled_from(EXAMPLES))
def test_a_reason_is_one_short_line_of_known_words(example: tuple[str, str]) -> None:
    reason = verdict(example[1]).reason
    assert reason.isascii()
    assert "\n" not in reason
    assert len(reason) < 80


def test_two_hints_of_another_language_are_enough_and_one_is_a_name() -> None:
    assert verdict("Find the phone of Ana von Trapp").route == "local"
    assert verdict("Find the phone of Ana von der Leyen").reason.startswith("in a language")


def test_an_abbreviation_ends_no_sentence() -> None:
    assert verdict("Can you find Dr. Silva's phone number?").route == "local"
    assert verdict("Find it. Silva's phone number is where?").route == "cloud"


def test_a_definition_is_a_lookup_only_of_a_word() -> None:
    assert verdict("Define ephemeral").route == "local"
    assert verdict("Define love in the words of a king").route == "cloud"


def test_compatibility_forms_are_resolved() -> None:
    assert verdict("\ufb01nd the \uff26ile report").route == "local"


# -- given text ------------------------------------------------------------------------------------

MARKS = ['"{}"', "“{}”", "«{}»", "„{}“", "'{}'", "\u2018{}\u2019", "`{}`"]


@pytest.mark.parametrize("marks", MARKS)
def test_reasoning_inside_quotation_marks_is_data(marks: str) -> None:
    quoted = marks.format("explain why the sky is blue")
    assert verdict(f"Translate {quoted} to Spanish").route == "local"
    assert verdict(f"Why does {quoted} rhyme?").route == "cloud"
    assert verdict(quoted).route == "cloud"


@pytest.mark.parametrize("marks", MARKS)
def test_a_quotation_that_does_not_end_hides_nothing(marks: str) -> None:
    opening = marks.partition("{}")[0]
    assert verdict(f"Translate {opening}explain why to Spanish").route == "cloud"


def test_quotation_marks_that_do_not_pair_hide_nothing() -> None:
    assert verdict('Sort this list " explain why " it "fails').route == "cloud"


def test_apostrophes_are_no_quotation_marks() -> None:
    assert verdict("Don't format this list, explain it, it's long").route == "cloud"
    assert verdict("Check the users' files and why the admins' calendar is full").route == "cloud"


def test_a_colon_introduces_given_text_only_behind_a_request_that_works_on_text() -> None:
    assert verdict("Translate this to Spanish: explain your choice").route == "local"
    assert verdict("Send this message to Rui: explain your choice").route == "local"
    assert verdict("Send Rui a message: explain my choice").route == "cloud"
    assert verdict("My request: explain your choice").route == "cloud"
    assert verdict("Check the server: explain the outage").route == "cloud"
    assert verdict("Format the list. Question: explain the list").route == "cloud"
    assert verdict("Set an alarm at 10:30 explain the list").route == "cloud"


@pytest.mark.parametrize("also", ["Also", "Then", "And then", "Depois", "E depois", "Luego"])
def test_a_request_that_goes_on_behind_given_text_is_read(also: str) -> None:
    assert verdict(f"Translate to English: bom dia. {also} explain it").route == "cloud"
    assert verdict(f"Translate to English: bom dia\n{also} explain it").route == "cloud"


def test_only_so_many_colons_are_asked_what_they_introduce() -> None:
    assert verdict("Format this: explain").route == "local"
    assert verdict("Note: a: b: format this: explain").route == "local"
    assert verdict("Note: a: b: c: format this: explain").route == "cloud"


def test_given_text_may_be_in_any_language() -> None:
    assert verdict("Translate to English: Warum blau?").route == "local"
    assert verdict("Translate to English: 你好").route == "local"
    assert verdict("你好: translate this to English").route == "cloud"


# -- the operator's words --------------------------------------------------------------------------


def test_the_operator_adds_routine_words() -> None:
    assert verdict("Frobnicate everything").route == "cloud"
    words = {"local_words": ("FROBNICATE", "relatório diário")}
    assert verdict("frobnicate everything", **words) == Verdict(
        "local", "asks for what the operator calls routine"
    )
    assert verdict("Quero o relatorio diario", **words).route == "local"
    assert verdict("Frobnicate everything and explain it", **words).route == "cloud"


def test_the_operator_adds_words_for_the_cloud() -> None:
    assert verdict("Open the file budget").route == "local"
    words = {"cloud_words": ("Budget", "folha de férias")}
    assert verdict("Open the file budget", **words).reason == "asks for reasoning: budget"
    assert verdict("Open the file bugdet", **words).reason == "may ask for reasoning: budget"
    assert verdict("Abre o ficheiro folha de férias", **words).route == "cloud"


def test_a_word_in_both_of_the_operators_lists_goes_to_the_cloud() -> None:
    assert verdict("deploy", local_words=("deploy",)).route == "local"
    both = {"local_words": ("deploy",), "cloud_words": ("deploy",)}
    assert verdict("deploy", **both).route == "cloud"


def test_an_operator_may_call_a_built_in_reasoning_word_routine() -> None:
    assert verdict("Show the plan").route == "cloud"
    assert verdict("Show the plan", local_words=("plan",)).route == "local"


@pytest.mark.parametrize("word", ["", "  ", "!!", "\x00", "🙂"])
def test_an_operators_word_without_letters_changes_nothing(word: str) -> None:
    words = {"local_words": (word,), "cloud_words": (word,)}
    assert verdict("Hello there", **words) == verdict("Hello there")
    assert verdict("list files", **words) == verdict("list files")


# -- anything at all -------------------------------------------------------------------------------

TEXTS = st.text(max_size=420) | st.lists(
    st.sampled_from(
        [
            *"\"'“”«»\u2018\u2019`:.,;!?()\n",
            *("format", "this", "why", "explain", "list", "files", "also", "então", "é", "の"),
        ]
    ),
    max_size=60,
).map(" ".join)


@given(TEXTS, st.integers(0, 30), st.integers(0, 10_000))
def test_any_text_gets_the_same_verdict_every_time(text: str, turns: int, history: int) -> None:
    first = verdict(text, turns, history)
    assert first.route in ("local", "cloud")
    assert verdict(text, turns, history) == first


@given(st.text(max_size=100, alphabet=st.characters(codec=None)))
def test_not_even_lone_surrogates_raise(text: str) -> None:
    assert verdict(text + "\ud800").route in ("local", "cloud")


@given(
    st.text(max_size=80, alphabet=st.characters(whitelist_categories=("Lo",))),
)
def test_a_request_in_another_script_is_never_local(text: str) -> None:
    if any(not character.isascii() for character in unicodedata.normalize("NFKC", text)):
        assert verdict("list files " + text).route == "cloud"
