"""The classifier: what a verdict costs.  `.venv/bin/python -m benchmarks.bench_classifier`"""

from gevent import monkey

monkey.patch_all()


import statistics
import time
import tomllib
from pathlib import Path

from benchmarks.report import figure, header, note
from mead.config import ClassifierSettings
from mead.router.classifier import classify

SETTINGS = ClassifierSettings()
LONGEST = SETTINGS.maximum_characters
TARGET_US = 150
ROUNDS = 9
CALLS = 500
CORPUS = Path(__file__).parents[1] / "tests" / "router" / "corpus.toml"


def filled(start: str, filler: str) -> str:
    """A prompt of exactly the greatest length that is read at all."""
    return (start + filler * LONGEST)[:LONGEST]


def distinct(start: str) -> str:
    """A prompt of words that no list holds, all different: each one's spelling is checked."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return (start + " ".join(f"w{a}{b}rdx" for a in "aeiou" for b in letters))[:LONGEST]


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
}


def main() -> None:
    header("classifier")
    for name, text in PROMPTS.items():
        microseconds = best(text)
        figure(
            f"{name}, {len(text)} characters",
            f"{microseconds:.0f} us",
            f"under {TARGET_US} us",
            met=microseconds < TARGET_US,
        )
    groups = tomllib.loads(CORPUS.read_text())["group"]
    corpus = [best(text, 20) for group in groups for text in group["texts"]]
    note(
        f"the {len(corpus)} prompts of the corpus: median {statistics.median(corpus):.0f} us,"
        f" worst {max(corpus):.0f} us"
    )


def best(text: str, calls: int = CALLS) -> float:
    """Microseconds of one verdict in the best of several rounds."""
    rounds: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            classify(text, turns=0, history_characters=0, settings=SETTINGS)
        rounds.append((time.perf_counter() - start) / calls * 1e6)
    return min(rounds)


if __name__ == "__main__":
    main()
