"""The word lists made ready to look up: phrases by their first word, misspellings by deletion.

Built once for each pair of the operator's word lists.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mead.router.doubt_words import LOOKALIKES, NEUTRAL, REASONING
from mead.router.request import fold, tokens
from mead.router.routine_words import ROUTINES
from mead.router.routines import NOTHING, Routine
from mead.router.words import CHAIN, OPENERS, PLAIN, POINTERS

KNOWN: Final = frozenset[str]().union(
    *(PLAIN, CHAIN, OPENERS, POINTERS),
    *(group for routine in ROUTINES for group in routine.need.words),
)
"""Words that tell nothing about what a request is after, or belong to a routine one."""

_NO_TYPOS: Final = KNOWN | LOOKALIKES

MINIMUM_TYPO_LETTERS: Final = 5
"""Shorter words have too many innocent neighbours."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A known phrase: what it asks for, and how it goes on behind its first word."""

    text: str
    rest: list[str]
    """Behind the first two."""
    length: int
    """How many words it has."""
    reasoning: bool
    routines: tuple[Routine, ...]
    anywhere: tuple[Routine, ...]
    """Those of the routines that count also where no clause begins."""


class Lexicon:
    """What is known of words."""

    __slots__ = ("_by_deletion", "_phrases")

    def __init__(self, local_words: Iterable[str], cloud_words: Iterable[str]) -> None:
        cloud = REASONING | _folded(cloud_words)
        own = _folded(local_words) - _folded(cloud_words)
        meanings: dict[str, tuple[bool, tuple[Routine, ...]]] = {}
        for text in NEUTRAL:
            meanings[text] = (False, ())
        for text in cloud - own:
            meanings[text] = (True, ())
        for routine in (*ROUTINES, _operators(own)):
            for text in routine.phrases:
                reasoning, routines = meanings.get(text, (False, ()))
                meanings[text] = (reasoning, (*routines, routine))
        self._phrases = _by_first_word(meanings)
        self._by_deletion = _by_deletion(
            text for text in cloud - own if len(text) >= MINIMUM_TYPO_LETTERS and text.isalpha()
        )

    def phrases(self, word: str, following: str) -> tuple[Phrase, ...]:
        """The phrases that begin with `word`, longest first; those of several words with both."""
        begun = self._phrases.get(word)
        return () if begun is None else begun.get(following) or begun[""]

    def misspelt(self, word: str) -> str | None:
        """The reasoning word that `word` is one slip away from, if it is no word of its own."""
        if len(word) < MINIMUM_TYPO_LETTERS - 1 or word in self._phrases or word in _NO_TYPOS:
            return None
        return self.one_slip_from(word)

    def one_slip_from(self, word: str) -> str | None:
        """The reasoning word that `word` is one slip away from, whatever it means itself."""
        index = self._by_deletion
        for key in _deletions(word):
            if key in index:
                for meant in index[key]:
                    if _is_one_slip(word, meant):
                        return meant
        return None


@lru_cache(maxsize=16)
def lexicon_for(local_words: tuple[str, ...], cloud_words: tuple[str, ...]) -> Lexicon:
    """The lexicon with the operator's words added."""
    return Lexicon(local_words, cloud_words)


def _folded(added: Iterable[str]) -> frozenset[str]:
    """The operator's words, spelt as a request is read; what holds no word is left out."""
    spelt = (" ".join(token for token in tokens(fold(word)) if token.isalnum()) for word in added)
    return frozenset(text for text in spelt if text)


def _operators(own: frozenset[str]) -> Routine:
    return Routine(
        reason="asks for what the operator calls routine",
        need=NOTHING,
        phrases=own,
        leads=False,
        free=True,
    )


def _by_first_word(
    meanings: dict[str, tuple[bool, tuple[Routine, ...]]],
) -> dict[str, dict[str, tuple[Phrase, ...]]]:
    index: dict[str, dict[str, list[Phrase]]] = {}
    for text, (reasoning, routines) in meanings.items():
        first, *more = text.split()
        anywhere = tuple(routine for routine in routines if not routine.leads)
        phrase = Phrase(text, more[1:], 1 + len(more), reasoning, routines, anywhere)
        seconds = index.setdefault(first, {"": []})
        seconds.setdefault(more[0] if more else "", []).append(phrase)
    return {first: _with_the_single_word(seconds) for first, seconds in index.items()}


def _with_the_single_word(seconds: dict[str, list[Phrase]]) -> dict[str, tuple[Phrase, ...]]:
    """By their second word the phrases that begin alike, longest first; "" is any other word."""
    return {
        second: tuple(sorted([*phrases, *alone], key=lambda phrase: -phrase.length))
        for alone in [seconds.pop("")]
        for second, phrases in (*seconds.items(), ("", []))
    }


def _deletions(word: str) -> list[str]:
    """`word` itself and every text that it is one letter longer than."""
    return [word, *(word[:at] + word[at + 1 :] for at in range(len(word)))]


def _by_deletion(known: Iterable[str]) -> dict[str, tuple[str, ...]]:
    index: dict[str, tuple[str, ...]] = {}
    for word in sorted(known):
        for key in dict.fromkeys(_deletions(word)):
            index[key] = (*index.get(key, ()), word)
    return index


def _is_one_slip(typed: str, meant: str) -> bool:
    """Whether one letter was added, left out or changed, or two neighbours swapped.

    The two differ and have a deletion in common, so their lengths differ by one at most.
    """
    start = 0
    while start < min(len(typed), len(meant)) and typed[start] == meant[start]:
        start += 1
    typed, meant = typed[start:], meant[start:]
    return (
        typed[1:] == meant
        or typed == meant[1:]
        or typed[1:] == meant[1:]
        or (typed[2:] == meant[2:] and typed[1::-1] == meant[:2])
    )
