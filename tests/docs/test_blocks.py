"""Every block of the docs is run, or says why not; every name in them is of something there is."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click
import orjson
import pytest

from mead import Mead
from mead.cli import mead_group
from mead.config import Settings
from mead.storage.records import decode_payload
from tests.docs import test_files, test_mcp_sdk, test_proxies, test_shell
from tests.docs.blocks import BLOCKS, MADE, PAGES, ROOT, Block, written_in

TLS: Final = ROOT / "tests" / "data" / "tls"

PYTHON: Final = [block for block in written_in("python") if block not in test_mcp_sdk.SDK]

RUN_BY: Final = {
    "sh": {block for page in test_shell.TESTED for block in written_in("sh", page)},
    "toml": set(written_in("toml")),
    "python": {*PYTHON, *test_mcp_sdk.SDK},
    "json": set(written_in("json")),
    "ini": set(test_files.UNITS),
    "dockerfile": set(test_files.DOCKERFILES),
    "yaml": set(test_files.COMPOSE),
    "nginx": set(test_proxies.NGINX),
    "caddyfile": set(test_proxies.CADDY),
}
"""The languages that are run, and which blocks of each are."""

NOT_RUN: Final = {
    ("docs/architecture.md", "Mead"): "a picture",
    ("docs/architecture.md", "MCP client            device               command"): "a picture",
    ("docs/architecture.md", "a device's frame"): "a picture",
    ("docs/architecture.md", "what ends"): "a picture",
    ("docs/configuration.md", "runtime.turn_timeout_ms"): "output; see tests/config/test_docs.py",
    ("docs/contributing.md", "wsgi, gunicorn.conf"): "layers; compared below",
    ("docs/deck-protocol.md", "prompt.send ──>"): "a picture",
    ("docs/deck-protocol.md", "> {"): "a real run; see tests/deck/test_protocol_docs.py",
}
"""The other blocks, by page and the beginning of their first line, with the reason."""


def reason_of(block: Block) -> str | None:
    return next(
        (
            reason
            for (page, head), reason in NOT_RUN.items()
            if page == block.page and block.head.startswith(head)
        ),
        None,
    )


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_block_is_run_or_says_why_not(block: Block) -> None:
    if block.language in RUN_BY:
        assert block in RUN_BY[block.language], "no test takes it"
    else:
        assert block.language in ("", "text")
        assert reason_of(block), "say in NOT_RUN why it is not run, or give it a language"


def test_every_reason_is_of_a_block() -> None:
    given = {reason_of(block) for block in BLOCKS if block.language not in RUN_BY}
    assert given == set(NOT_RUN.values())


# -- by language -----------------------------------------------------------------------------------


@pytest.mark.parametrize("block", written_in("toml"), ids=str)
def test_every_settings_block_loads(block: Block) -> None:
    text = block.text.replace("/etc/mead", str(TLS))
    given = {name: f"{name}_{'x' * 40}".lower() for name in re.findall(r'"env:(\w+)"', block.text)}
    settings = Settings.build(tomllib.loads(text), environ=given)
    assert settings.sources


@pytest.mark.timeout(150)
@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_every_python_block_runs(block: Block, tmp_path: Path) -> None:
    """In a patched process; what reads a file is given the log of a conversation."""
    with Mead({"storage": {"directory": str(tmp_path / "var")}}) as mead:
        mead.submit_turn(mead.start_session(), "hello")
    (log,) = (tmp_path / "var").glob("*.log")
    patch = "" if "monkey" in block.text else "from gevent import monkey; monkey.patch_all()\n"
    done = subprocess.run(
        [sys.executable, "-c", patch + block.text, str(log)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ("'input': 'hello'" in done.stdout) == ("argv" in block.text)


@pytest.mark.parametrize("block", written_in("json"), ids=str)
def test_every_json_block_is_one_of_a_known_kind(block: Block) -> None:
    shape = orjson.loads(block.text)
    if "jsonrpc" in shape:
        assert (
            orjson.loads(shape["result"]["content"][0]["text"])
            == (shape["result"]["structuredContent"])
        )
    else:
        assert decode_payload(block.text.strip().encode()) == (shape["n"], shape["s"], shape["e"])


def test_the_layers_are_those_of_the_contract() -> None:
    (shown,) = (block.text for block in written_in("text", "docs/contributing.md"))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = (
        one for one in settings["tool"]["importlinter"]["contracts"] if one["id"] == "layers"
    )
    layers = [re.sub(r"[()]", "", layer) for layer in contract["layers"]]
    assert shown.splitlines()[1:] == layers


# -- what stands between the blocks ----------------------------------------------------------------


def inline_code() -> Iterator[tuple[str, str]]:
    """Every `code` outside of blocks, with its page."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for code in re.findall(r"`([^`\n]+)`", text):
            yield page.relative_to(ROOT).as_posix(), code


def commands() -> Iterator[tuple[str, str]]:
    """The commands of the docs: between the blocks, and in those that are run elsewhere."""
    named = [(page, code) for page, code in inline_code() if page != MADE]
    named += [(block.page, line) for block in BLOCKS for line in block.text.splitlines()]
    for page, text in named:
        found = re.search(r"flask mead ([^`|>;&)#]+)", text)
        if found is not None:
            yield page, found[1].removesuffix("...").strip()


def is_there(command: str) -> bool:
    """Whether that is a command, with options that it has."""
    at: click.Command = mead_group
    for word in shlex.split(command):
        if word.startswith("--"):
            options = {name for each in at.params for name in each.opts}
            if word.partition("=")[0] not in options | {"--help"}:
                return False
        elif isinstance(at, click.Group):
            names = word.split("|")
            if not all(name in at.commands or name == "COMMAND" for name in names):
                return False
            at = at.commands.get(names[0], at)
    return True


@pytest.mark.parametrize(("page", "command"), sorted(set(commands())))
def test_every_command_that_is_named_is_there(page: str, command: str) -> None:
    assert is_there(command)


def test_a_command_that_is_not_there_would_be_noticed() -> None:
    assert is_there("sessions list --json")
    assert not is_there("sessions liszt")
    assert not is_there("sessions list --jsn")
    assert not is_there("deck link|revok")


def test_every_target_of_make_that_is_named_is_there() -> None:
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {code.split()[1] for _, code in inline_code() if re.fullmatch(r"make [a-z0-9]+", code)}
    assert named <= targets


def paths() -> Iterator[tuple[str, str]]:
    """Every path of the tree that a page names, in its text or in its pictures."""
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for found in re.findall(
            r"(?<![\w/.-])((?:mead|blueprints|tests|benchmarks|docs)/[\w./*-]*)",
            page.read_text(),
        ):
            yield name, found.rstrip(".")


@pytest.mark.parametrize(("page", "path"), sorted(set(paths())))
def test_every_path_that_is_named_is_there(page: str, path: str) -> None:
    """Its suffix may be left out."""
    found = [*ROOT.glob(path), *ROOT.glob(f"{path}.*")]
    assert found or (ROOT / page).parent.joinpath(path).exists()


MODULE: Final = re.compile(r"mead(\.\w+)*\.(?!toml$|lock$|env$|v1$)\w+")


@pytest.mark.parametrize(
    ("page", "name"),
    sorted({(page, code) for page, code in inline_code() if MODULE.fullmatch(code)}),
)
def test_every_module_that_is_named_is_there(page: str, name: str) -> None:
    del page
    module, _, attribute = name.rpartition(".")
    if find_spec(module) and hasattr(__import__(module, fromlist=["_"]), attribute):
        return
    assert find_spec(name)
