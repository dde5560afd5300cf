"""One pass over the tokens of a prompt: what does the request in it ask for?

A phrase of reasoning ends the pass at once.  A routine phrase is kept when it stands where a clause
begins (or may stand anywhere).  A colon behind a phrase that works on text introduces given text,
which is data and not read; the pass goes on behind it (mead.router.given).  At the end
every routine phrase kept has to find what it needs in the same request (`Need`); nothing kept, or
a need not met, is a doubt.
"""

from typing import Final, assert_never

from mead.router.doubt_words import FOREIGN, FOREIGN_HINTS, OTHER_REQUESTS
from mead.router.given import end_of_given
from mead.router.lexicon import KNOWN, Lexicon, Phrase
from mead.router.request import BREAKS, QUOTED, SENTENCE_ENDS
from mead.router.routines import Need, Routine, Text
from mead.router.words import ABBREVIATIONS, CHAIN, OPENERS, POINTERS

MAXIMUM_OTHER_WORDS: Final = 5
"""Names, qualities and things of its own that a routine request may mention."""

MAXIMUM_FREE_WORDS: Final = 40
"""The same where what stands beside the request is its own affair."""
MAXIMUM_STEPS: Final = 120
"""Words and signs of a request: 400 characters of prose have some 90."""
MAXIMUM_COLONS: Final = 4
"""What stands behind one more is read like any other clause."""

FOREIGN_LANGUAGE: Final = "in a language other than English, Portuguese or Spanish"
IDLE_QUESTION: Final = "holds a question that is not routine"
NOTHING_ROUTINE: Final = "no routine request recognised"
OTHER_REQUEST: Final = "asks for something that is not routine"
MUCH_ELSE: Final = "says much beside a routine request"
TANGLED: Final = "more clauses than a routine request has"
UNMET: Final = "a request without the text or thing that would make it routine"


Asked = tuple[tuple[Routine, ...], bool]
"""What a phrase asks for, and whether a quotation stands right behind it, as a name does."""


class Scan:
    """One pass over the tokens of one prompt."""

    __slots__ = (
        "_at",
        "_colons",
        "_count",
        "_found",
        "_given",
        "_hints",
        "_leading",
        "_lexicon",
        "_sentence_found",
        "_sentence_words",
        "_tokens",
        "_words",
    )

    def __init__(self, lexicon: Lexicon, request: list[str]) -> None:
        self._lexicon = lexicon
        self._tokens = request
        self._at = 0
        self._words: dict[str, None] = {}
        """The words that are no routine phrase, in order, so that equal prompts read alike."""
        self._found: dict[Asked, None] = {}
        """In order; the same again says nothing new."""
        self._given = False
        self._leading = True
        self._colons = 0
        self._count = 0
        self._hints = 0
        self._sentence_found: dict[Asked, None] = {}
        self._sentence_words = 0

    def finding(self) -> tuple[bool, str]:
        """Whether the request is routine, and why or why not in a few stable words."""
        doubt = self._read()
        if doubt is None and self._hints > 1:
            doubt = FOREIGN_LANGUAGE
        if doubt is not None:
            return (False, doubt)
        return self._judge()

    def _judge(self) -> tuple[bool, str]:
        """The finding on what was kept: every request in it must be routine."""
        met = [self._met(asked) for asked in self._found]
        unmet = self._demands_more(met)
        first = next((routine for routine in met if routine is not None), None)
        if first is None:
            return (False, UNMET if unmet else NOTHING_ROUTINE)
        free = any(routine is not None and routine.free for routine in met)
        unmet = unmet and not free
        if self._other_words() > (MAXIMUM_FREE_WORDS if free else MAXIMUM_OTHER_WORDS):
            doubt = UNMET if unmet else MUCH_ELSE
        else:
            doubt = self._misspelling() or (UNMET if unmet else None)
        return (True, first.reason) if doubt is None else (False, doubt)

    def _demands_more(self, met: list[Routine | None]) -> bool:
        """Whether a request was found that does not find what it needs."""
        return any(
            routine is None and any(each.demands for each in routines)
            for (routines, _), routine in zip(self._found, met, strict=True)
        )

    # -- reading -----------------------------------------------------------------------------------

    def _read(self) -> str | None:
        """Take in every token, or say what sends the prompt to the cloud before that."""
        for _ in range(MAXIMUM_STEPS):
            if self._at >= len(self._tokens):
                return None
            token = self._tokens[self._at]
            doubt = self._break(token) if token in BREAKS else self._word(token)
            if doubt is not None:
                return doubt
        return TANGLED

    def _break(self, sign: str) -> str | None:
        self._at += 1
        if sign in SENTENCE_ENDS:
            return self._sentence_end(sign)
        self._leading = True
        if sign == QUOTED:
            self._given = True
        elif sign == ":" and self._at < len(self._tokens) and self._introduces_text():
            self._given = True
            self._at = end_of_given(self._tokens, self._at)
            if self._tokens[self._at - 1] in SENTENCE_ENDS:
                self._begin_sentence()
        return None

    def _sentence_end(self, sign: str) -> str | None:
        if sign == "." and self._at > 1 and self._tokens[self._at - 2] in ABBREVIATIONS:
            return None
        idle_question = sign == "?" and self._sentence_words > 2 and not self._sentence_is_met()
        self._begin_sentence()
        return IDLE_QUESTION if idle_question else None

    def _begin_sentence(self) -> None:
        self._leading = True
        self._sentence_found = {}
        self._sentence_words = 0

    def _word(self, token: str) -> str | None:
        if token in FOREIGN or not token.isascii():
            return FOREIGN_LANGUAGE
        if token in FOREIGN_HINTS:
            self._hints += 1
        self._count += 1
        self._sentence_words += 1
        second = self._at + 1
        following = self._tokens[second] if second < len(self._tokens) else ""
        for phrase in self._lexicon.phrases(token, following):
            end = self._at + phrase.length
            if phrase.rest and self._tokens[second + 1 : end] != phrase.rest:
                continue
            if phrase.reasoning:
                return f"asks for reasoning: {phrase.text}"
            if self._take(phrase, end):
                return None
        if self._leading and token in OTHER_REQUESTS:
            return OTHER_REQUEST
        self._words[token] = None
        self._move_to(self._at + 1)
        return None

    def _take(self, phrase: Phrase, end: int) -> bool:
        """Keep what the phrase asks for; False when it asks for nothing at this place."""
        counted = phrase.routines if self._leading else phrase.anywhere
        if phrase.routines and not counted:
            return False
        if phrase.length > 1 or not phrase.routines:
            behind_the_verb = 1 if phrase.routines else 0
            self._words.update(dict.fromkeys(self._tokens[self._at + behind_the_verb : end]))
        if counted:
            asked = (counted, end < len(self._tokens) and self._tokens[end] == QUOTED)
            self._found[asked] = self._sentence_found[asked] = None
            self._leading = False
        self._move_to(end)
        return True

    def _move_to(self, end: int) -> None:
        last = self._tokens[end - 1]
        self._leading = last in OPENERS or (self._leading and last in CHAIN)
        self._at = end

    # -- judging -----------------------------------------------------------------------------------

    def _sentence_is_met(self) -> bool:
        return any(self._met(asked) is not None for asked in self._sentence_found)

    def _introduces_text(self) -> bool:
        """Whether what this sentence asked for so far is done to the text behind its colon."""
        self._colons += 1
        if self._colons > MAXIMUM_COLONS:
            return False
        before, self._given = self._given, True
        pointed_at = not self._words.keys().isdisjoint(POINTERS)
        introduces = any(
            (routine.takes_text or (routine.carries and pointed_at))
            and self._has(routine.need, quotation_follows=False)
            for routines, _ in self._sentence_found
            for routine in routines
        )
        self._given = before
        return introduces

    def _met(self, asked: Asked) -> Routine | None:
        """The first of the routines that finds what it needs."""
        routines, quotation_follows = asked
        for routine in routines:
            if self._has(routine.need, quotation_follows):
                return routine
        return None

    def _has(self, need: Need, quotation_follows: bool) -> bool:
        """Whether the request holds what a routine phrase needs."""
        if need.at_most is not None and self._count > need.at_most:
            return False
        words = all(not self._words.keys().isdisjoint(group) for group in need.words)
        text = self._has_text(need.text, quotation_follows)
        return (words or text) if need.either else (words and text)

    def _has_text(self, text: Text, quotation_follows: bool) -> bool:
        match text:
            case Text.ANYWHERE:
                return True
            case Text.NEXT:
                return quotation_follows
            case Text.GIVEN:
                return self._given
            case Text.POINTED_AT:
                return self._given or not self._words.keys().isdisjoint(POINTERS)
            case _:
                assert_never(text)

    def _misspelling(self) -> str | None:
        """The doubt about a word that may be meant as one of reasoning."""
        for word in self._words:
            meant = self._lexicon.misspelt(word)
            if meant is not None:
                return f"may ask for reasoning: {meant}"
        return None

    def _other_words(self) -> int:
        """How much a request says beside its routine part."""
        return sum(1 for word in self._words.keys() - KNOWN if not word[0].isdigit())
