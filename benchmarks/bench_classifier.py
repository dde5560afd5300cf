"""The classifier: what a verdict costs.  `.venv/bin/python -m benchmarks.bench_classifier`

Processor time, so that what else runs on the machine counts less.
"""

from gevent import monkey

monkey.patch_all()


import statistics
import string
import time
import tomllib
from itertools import product
from pathlib import Path

from benchmarks.report import figure, header, note
from mead.config import ClassifierSettings
from mead.router.classifier import classify

SETTINGS = ClassifierSettings()
LONGEST = SETTINGS.maximum_characters
TARGET_US = 150
CORPUS = Path(__file__).parents[1] / "tests" / "router" / "corpus.toml"

ALPHABET = (
    *string.printable[:95],  # letters, digits, signs and the space
    *"\n“”«»„\u2018\u2019éñö的½⑽",
    *"\u0301\u0323\u0345",  # marks that change places when they are put in order
    *"\ufdfa\u3300",  # one stands for 18 characters, one for four that join
)
"""What hostile patterns are made of."""
WORST = 40
"""How many of the dearest patterns are measured again, thoroughly."""


def filled(start: str, filler: str) -> str:
    """A prompt of exactly the greatest length that is read at all."""
    return (start + filler * LONGEST)[:LONGEST]


def distinct(start: str) -> str:
    """A prompt of words that no list holds, all different: each one's spelling is checked."""
    return (start + " ".join(f"w{a}{b}rdxyz" for a in "aeiou" for b in "bcdfghjk"))[:LONGEST]


PROMPTS = {
    "given text": filled("Format this as a table: ", "apples 3, pears 5, "),
    "prose, nothing routine": filled(
        "", "the meeting was long and nobody could remember what had happened "
    ),
    "Portuguese, accents": filled("Lembra-me de comprar ", "maçãs, pêras, pão, limões e chá, "),
    "unknown words": distinct("Remind me to "),
    "quotations": filled("Translate to English ", '"bom dia" e '),
    "punctuation (hostile)": filled("", ".!?;:,"),
    "unpaired quotation marks (hostile)": filled("", "'a "),
    "calls (hostile)": filled("", "a("),
    "tags (hostile)": filled("", "<a "),
    "colons behind requests (hostile)": filled("", "da me: "),
    "commands, all different (hostile)": filled(
        "", "poe. abre. ejecute. coloca. diz me o. mostre. elimine. monitor. define. is. spell. "
    ),
}


def main() -> None:
    header("classifier")
    for name, text in PROMPTS.items():
        report(f"{name}, {len(text)} characters", best(text))
    report_patterns()
    groups = tomllib.loads(CORPUS.read_text())["group"]
    corpus = [best(text, 20) for group in groups for text in group["texts"]]
    note(
        f"the {len(corpus)} prompts of the corpus: median {statistics.median(corpus):.0f} us,"
        f" worst {max(corpus):.0f} us"
    )


def report_patterns() -> None:
    """Every pattern of two characters, repeated to the greatest length: the worst of them."""
    patterns = ["".join(pair) for pair in product(ALPHABET, repeat=2)]
    roughly = {pattern: best(filled("", pattern), 3, 2) for pattern in patterns}
    dearest = sorted(patterns, key=lambda pattern: -roughly[pattern])[:WORST]
    exactly = {pattern: best(filled("", pattern), 100) for pattern in dearest}
    worst = max(exactly, key=lambda pattern: exactly[pattern])
    report(f"the worst of {len(patterns)} patterns of two, {worst!a}", exactly[worst])


def report(name: str, microseconds: float) -> None:
    figure(name, f"{microseconds:.0f} us", f"under {TARGET_US} us", met=microseconds < TARGET_US)


def best(text: str, calls: int = 300, rounds: int = 9) -> float:
    """Microseconds of processor time of one verdict in the best of several rounds."""
    spent: list[float] = []
    for _ in range(rounds):
        start = time.process_time_ns()
        for _ in range(calls):
            classify(text, turns=0, history_characters=0, settings=SETTINGS)
        spent.append((time.process_time_ns() - start) / calls / 1000)
    return min(spent)


if __name__ == "__main__":
    main()
