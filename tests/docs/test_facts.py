"""Lists of the docs that have to be whole: the files, the metrics, the routes."""

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import pytest

from mead.config import Settings
from tests.docs.blocks import ROOT
from tests.docs.devices import program
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN, Server, running, tokens_toml
from wsgi import create_app

DOCS: Final = ROOT / "docs"
ASK: Final = """
with DeckClient(*sys.argv[1:]) as device:
    device.send_prompt("hello")
    while (kind := device.receive(10)["type"]) != "turn.completed":
        pass
    print(kind)
"""


@pytest.mark.e2e
def test_every_file_and_every_metric_of_a_server_is_in_the_docs(tmp_path: Path) -> None:
    storage = f'[storage]\ndirectory = "{tmp_path}/var"\n'
    with running(Server(tmp_path, tokens_toml() + storage)) as server:
        assert program(server.url(""), ASK).communicate(timeout=30) == ("turn.completed\n", None)
        key = {"Authorization": f"Bearer {MCP_TOKEN}"}
        metrics = server.get("/metrics", headers=key).text
        names = {file.name for file in (tmp_path / "var").iterdir()}
    rows = re.findall(r"^\| `([^`]+)` \|", (DOCS / "storage-format.md").read_text(), re.MULTILINE)
    patterns = [re.sub(r"<\w+>", "*", row) for row in rows]
    assert {name for name in names if not any(fnmatch(name, one) for one in patterns)} == set()
    assert any(name.endswith(".events") for name in names)
    told = set(re.findall(r"`(mead_\w+)`", (DOCS / "listener.md").read_text()))
    assert set(re.findall(r"^(mead_\w+)", metrics, re.MULTILINE)) == told


def test_every_route_is_in_the_docs() -> None:
    tokens = {"mcp_server": {"token": MCP_TOKEN}, "deck": {"token": DECK_TOKEN}}
    served = {
        (method, _shape(rule.rule))
        for rule in create_app(Settings.build(tokens)).url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if not re.search(r"\.\w+$", rule.rule)  # a file of the page
    }
    text = "".join((DOCS / name).read_text() for name in ("deck-http.md", "listener.md", "mcp.md"))
    told = {
        (method, _shape(path)) for method, path in re.findall(r"`([A-Z]+) (/[\w/<>.]*)", text)
    } | {("GET", path) for path in re.findall(r"^\| `(/\w+)` \|", text, re.MULTILINE)}
    assert served == told


def _shape(rule: str) -> str:
    return re.sub(r"<[^>]*>", "<>", rule)
