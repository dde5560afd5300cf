"""What the scripted model of the page's tests answers: the first word of a prompt decides.

tests/page/provider.py asks `step_for`.  A step is what mead.providers.scripted takes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

PAYLOADS: Final[list[str]] = json.loads((Path(__file__).parent / "payloads.json").read_text())
USAGE: Final = {"input": 41, "output": 212}

CODE: Final = """Three files changed today. The newest one decides how long a client waits:

```python
def delay(attempt: int, whole_ms: int = 500) -> int:
    \"\"\"Milliseconds until the next try; doubles up to 15 s.\"\"\"
    limit = min(15_000, whole_ms * 2**attempt)
    return random.randint(limit // 2, limit)  # so that not all come back at once
```

| File | Lines | Why |
|:-----|------:|:----|
| `backoff.py` | 64 | waits longer each time |
| `tickets.py` | 70 | a ticket is used once |
| `channel.py` | 290 | owns the order of events |

1. Read the first one, then *run* the tests.
2. Nothing else depends on it; see [the notes](https://example.org/notes).

> A connection that lived for ten seconds was a good one.
"""

PARAGRAPH: Final = (
    "The log is the truth: every event is written before anyone is sent it. A client that comes"
    " back says what it has seen, and gets the rest. Nothing is lost, and nothing comes twice.\n\n"
)


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _long_text() -> Iterator[str]:
    """200 kB of everything."""
    length = at = 0
    while length < 200_000:
        block = (
            f"## Part {at}\n\n{PARAGRAPH}- one\n- **two**\n\n{CODE}\n" if at % 4 == 0 else PARAGRAPH
        )
        length += len(block)
        at += 1
        yield block


LONG: Final = "".join(_long_text())


def _tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


LIST: Final = _tool("files__list", path="notes", changed_since="2026-11-30")
OTHER_LIST: Final = _tool("files__list", path="letters")
REPORT: Final = "# Report\n\nThree files changed today.\nThe newest decides the wait.\nEnd."
WRITE: Final = _tool("files__write", path="notes/report.md", text=REPORT)
WRITE_MORE: Final = _tool("files__write", path="notes/report.md", text=REPORT * 20)
ASK: Final = _tool(
    "ask_user", prompt="Which notes do you mean?", options=["Today's", "All of them"]
)


def step_for(prompt: str, round_: int) -> dict[str, Any]:
    """The step for a round of the tool loop of that prompt."""
    word, _, rest = prompt.partition(" ")
    steps = _steps(word.lower(), rest)
    return steps[min(round_, len(steps) - 1)]


def _steps(word: str, rest: str) -> list[dict[str, Any]]:
    answer = {"usage": USAGE}
    if word in ("xss", "xsstool"):
        return _payload(word, PAYLOADS[int(rest)])
    if word == "slow":
        text = (PARAGRAPH * 12)[: int(rest.split()[0]) if rest[:1].isdigit() else None]
        return [{"chunks": _pieces(text, 12), "delay_ms": 50, **answer}]
    if word == "endless":  # two minutes: it ends when somebody ends it
        return [{"chunks": _pieces(PARAGRAPH * 150, 12), "delay_ms": 50, **answer}]
    return SCRIPTS.get(word, [{"chunks": ["Hello. ", "What can I do for you?"], **answer}])


def _payload(word: str, payload: str) -> list[dict[str, Any]]:
    if word == "xss":
        text = f"Before\n\n{payload}\n\nafter"
        return [{"chunks": _pieces(text, 9), "delay_ms": 1, "usage": USAGE}]
    call = _tool("files__list", path=payload, **{payload[:40]: [payload]})
    return [{"tool_calls": [call]}, _said("Done.")]


def _said(*chunks: str) -> dict[str, Any]:
    return {"chunks": list(chunks), "usage": USAGE}


FENCE: Final = "```js\n" + "const a = 1;\n" * 400 + "```\n\nDone.\n"
SLEEP: Final = _tool("files__sleep", seconds=30)

SCRIPTS: Final[dict[str, list[dict[str, Any]]]] = {
    "code": [{**_said(*_pieces(CODE, 7)), "delay_ms": 4}],
    "long": [{**_said(*_pieces(LONG, 100)), "delay_ms": 1}],
    # Half an answer, and then nothing for a minute.
    "held": [{**_said(PARAGRAPH * 2 + CODE[:330], *[""] * 600), "delay_ms": 100}],
    "fence": [{**_said(*_pieces(FENCE, 40)), "delay_ms": 20}],
    "read": [{"tool_calls": [LIST]}, _said("Two notes: ", "a and b.")],
    "reads": [{"tool_calls": [LIST, OTHER_LIST]}, _said("Two lists.")],
    "write": [{"chunks": ["I will write it."], "tool_calls": [WRITE]}, _said("Done.")],
    "writemore": [{"tool_calls": [WRITE_MORE]}, _said("Done.")],
    "both": [{"tool_calls": [LIST, WRITE]}, _said("Both are done.")],
    "sleep": [{"tool_calls": [SLEEP]}, _said("Awake.")],
    "ask": [{"tool_calls": [LIST, ASK]}, _said("Thank you.")],
    "fail": [{"chunks": ["This much had ", "arrived"], "error": "overloaded"}],
    "cut": [{**_said("This much ", "fitted"), "stop_reason": "max_tokens"}],
    "odd": [{**_said("This much"), "stop_reason": "pause_9"}],
    "uncounted": [{"chunks": ["Nobody counted this."]}],
}


def tool_result(name: str, arguments: dict[str, Any]) -> str:
    """What the tool says."""
    if name.endswith("list"):
        return f"notes/a.md\nnotes/b.md\n({arguments.get('path', '')})"
    return f"{len(str(arguments.get('text', '')))} characters written"
