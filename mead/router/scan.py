"""One pass over the tokens of a prompt: what does the request in it ask for?

A phrase of reasoning ends the pass at once.  A routine phrase is kept when it stands where a clause
begins (or may stand anywhere).  A colon behind a phrase that works on text makes the rest given
text, which is data and not read, until a sentence in it begins with `also` or `then`.  At the end
every routine phrase kept has to find what it needs in the same request (`Need`); nothing kept, or
a need not met, is a doubt.
"""

from dataclasses import dataclass
from typing import Final, assert_never

from mead.router.doubt_words import FOREIGN, FOREIGN_HINTS, OTHER_REQUESTS
from mead.router.lexicon import KNOWN, Lexicon, Phrase
from mead.router.request import BREAKS, QUOTED, SENTENCE_ENDS
from mead.router.routines import Need, Routine, Text
from mead.router.words import ABBREVIATIONS, ADDITIVE, CHAIN, OPENERS, POINTERS

MAXIMUM_OTHER_WORDS: Final = 5
"""Names, qualities and things of its own that a routine request may mention."""

FOREIGN_LANGUAGE: Final = "in a language other than English, Portuguese or Spanish"
IDLE_QUESTION: Final = "holds a question that is not routine"
NOTHING_ROUTINE: Final = "no routine request recognised"
OTHER_REQUEST: Final = "asks for something that is not routine"
MUCH_ELSE: Final = "says much beside a routine request"
UNMET: Final = "a request without the text or thing that would make it routine"


@dataclass(frozen=True, slots=True)
class Asked:
    """A routine phrase as it was found."""

    routines: list[Routine]
    quotation_follows: bool
    """Whether a quotation stands right behind, as a name does."""


class Scan:
    """One pass over the tokens of one prompt."""

    __slots__ = (
        "_at",
        "_count",
        "_found",
        "_given",
        "_hints",
        "_in_data",
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
        self._found: list[Asked] = []
        self._given = False
        self._in_data = False
        self._leading = True
        self._count = 0
        self._hints = 0
        self._sentence_found = 0
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
        doubt = self._misspelling()
        if doubt is None and not any(routine is not None and routine.free for routine in met):
            doubt = UNMET if unmet else self._much_else()
        return (True, first.reason) if doubt is None else (False, doubt)

    def _demands_more(self, met: list[Routine | None]) -> bool:
        """Whether a request was found that does not find what it needs."""
        return any(
            routine is None and any(each.demands for each in asked.routines)
            for asked, routine in zip(self._found, met, strict=True)
        )

    # -- reading -----------------------------------------------------------------------------------

    def _read(self) -> str | None:
        """Take in every token, or say what sends the prompt to the cloud before that."""
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token in BREAKS:
                doubt = self._break(token)
            elif self._in_data:
                doubt = None
                self._at += 1
            else:
                doubt = self._word(token)
            if doubt is not None:
                return doubt
        return None

    def _break(self, sign: str) -> str | None:
        self._at += 1
        if sign in SENTENCE_ENDS:
            return self._sentence_end(sign)
        if self._in_data:
            self._in_data = not (sign == QUOTED and self._request_goes_on())
            return None
        self._leading = True
        if sign == QUOTED:
            self._given = True
        elif sign == ":" and self._at < len(self._tokens) and self._introduces_text():
            self._given = self._in_data = True
        return None

    def _sentence_end(self, sign: str) -> str | None:
        if sign == "." and self._at > 1 and self._tokens[self._at - 2] in ABBREVIATIONS:
            return None
        if self._in_data:
            self._in_data = not self._request_goes_on()
            self._leading = True
            return None
        idle_question = sign == "?" and self._sentence_words > 2 and not self._sentence_is_met()
        self._leading = True
        self._sentence_found = self._sentence_words = 0
        return IDLE_QUESTION if idle_question else None

    def _request_goes_on(self) -> bool:
        """Whether the sentence behind given text is the person speaking again."""
        ahead = self._tokens[self._at : self._at + 2]
        return bool(ahead) and (
            ahead[0] in ADDITIVE or (ahead[0] in OPENERS and ahead[-1] in ADDITIVE)
        )

    def _word(self, token: str) -> str | None:
        if token in FOREIGN or not token.isascii():
            return FOREIGN_LANGUAGE
        if token in FOREIGN_HINTS:
            self._hints += 1
        self._count += 1
        self._sentence_words += 1
        start = self._at + 1
        for phrase in self._lexicon.phrases(token):
            end = start + len(phrase.rest)
            if phrase.rest and self._tokens[start:end] != phrase.rest:
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
        counted = [each for each in phrase.routines if self._leading or not each.leads]
        if phrase.routines and not counted:
            return False
        self._words.update(dict.fromkeys(phrase.rest if phrase.routines else phrase.text.split()))
        quotation_follows = self._tokens[end : end + 1] == [QUOTED]
        if counted:
            self._found.append(Asked(counted, quotation_follows))
            self._sentence_found += 1
            self._leading = False
        self._move_to(end)
        return True

    def _move_to(self, end: int) -> None:
        last = self._tokens[end - 1]
        self._leading = last in OPENERS or (self._leading and last in CHAIN)
        self._at = end

    # -- judging -----------------------------------------------------------------------------------

    def _in_this_sentence(self) -> list[Asked]:
        return self._found[-self._sentence_found :] if self._sentence_found else []

    def _sentence_is_met(self) -> bool:
        return any(self._met(asked) is not None for asked in self._in_this_sentence())

    def _introduces_text(self) -> bool:
        """Whether what this sentence asked for so far is done to the text behind its colon."""
        asked = self._in_this_sentence()
        before, self._given = self._given, True
        pointed_at = not self._words.keys().isdisjoint(POINTERS)
        introduces = any(
            (routine.takes_text or (routine.carries and pointed_at))
            and self._has(routine.need, quotation_follows=False)
            for each in asked
            for routine in each.routines
        )
        self._given = before
        return introduces

    def _met(self, asked: Asked) -> Routine | None:
        """The first of the routines that finds what it needs."""
        for routine in asked.routines:
            if self._has(routine.need, asked.quotation_follows):
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

    def _much_else(self) -> str | None:
        """The doubt about a request that says much more than its routine part."""
        other = sum(1 for word in self._words.keys() - KNOWN if not word[0].isdigit())
        return MUCH_ELSE if other > MAXIMUM_OTHER_WORDS else None
