"""`flask mead chat --url`: what is told of an answer's end."""

import io
import sys

import pytest

from mead.cli.deck_chat import chat_at
from tests.helpers.deck_fake import TURN_ID, FakeDeck, Visit, message, prompt, serving

ENDINGS = {
    "refusal": "\n[cut: the model declined to go on; ask in another way]\n",
    "pause_\u202e9": "\n[cut: the model stopped with pause_\\u202e9]\n",
    "end_turn": "",
    None: "",
}


@pytest.mark.parametrize("stop_reason", ENDINGS)
def test_an_answer_that_is_not_whole_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stop_reason: str | None
) -> None:
    def visit(ws: Visit) -> None:
        ws.welcome()
        ws.tell(message("prompt.accepted", prompt(ws.hear_prompt()), 1))
        ws.tell(message("text.delta", {"turn_id": TURN_ID, "text": "begun"}, 2))
        ended = {"turn_id": TURN_ID, "stop_reason": stop_reason, "duration_ms": 5}
        ws.tell(message("turn.completed", ended, 3))
        ws.tell(
            message("metric.updated", {"turn_id": TURN_ID, "name": "tokens_out", "value": 1}, 4)
        )
        ws.hear()

    monkeypatch.setattr(sys, "stdin", io.StringIO("hi\n"))
    with serving(FakeDeck(visit)) as fake:
        chat_at(fake.url, "token", None, None)
    shown = capsys.readouterr()
    assert "begun" in shown.out
    told = shown.err.partition("\n[cut")
    assert "".join(told[1:]) == ENDINGS[stop_reason]
