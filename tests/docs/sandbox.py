"""A copy of Mead in a directory of its own, where the commands of the docs are run for real.

The packages are those of this run; nothing is fetched.  What the docs run that is not on every
machine is left out line by line, each with its reason (`NOT_HERE`); `systemctl` is played by the
sandbox itself, which starts and stops what the unit would.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import gevent
import psutil
import requests

from tests.docs.blocks import ROOT, Block
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN, free_port
from tests.helpers.waiting import eventually
from tests.helpers.with_us import WITH_US

BOUND_S: Final = 60
READY: Final = "[INFO] Mead is ready"  # `make run` itself speaks of that line, too

NOT_HERE: Final = {
    "useradd": "changes the users of the machine",
    "docker": "needs Docker; its file's steps are run by tests/docs/test_docker.py",
}
SERVES: Final = re.compile(r"(^|/|\s)(gunicorn wsgi:app|make run)$", re.MULTILINE)
SYSTEMCTL: Final = re.compile(r"^systemctl (?P<verb>[a-z-]+).*\n", re.MULTILINE)

SLOT: Final = """
[router.slots.local]
provider = "scripted"
model = "script"
script = [{ text = "Hello." }]
"""
STORAGE: Final = '\n[storage]\ndirectory = "var"\n'
TOKENS: Final = f'\n[mcp_server]\ntoken = "{MCP_TOKEN}"\n\n[deck]\ntoken = "{DECK_TOKEN}"\n'

PYTHON: Final = """\
#!/bin/sh
# As python3.11.  A new environment sees the packages of this run, so that pip finds them there.
{python} "$@" || exit
if [ "$1 $2" = "-m venv" ]; then
    echo {packages} > "$(echo "$3"/lib/python*/site-packages)/of-this-run.pth"
    for name in flask gunicorn; do
        {{ echo "#!$PWD/$3/bin/python"; tail -n +2 {programs}/$name; }} > "$3/bin/$name"
        chmod +x "$3/bin/$name"
    done
fi
"""
HEROKU: Final = """\
#!/bin/sh
# What the real one does to the repository and to the application's variables.
set -eu
case "$1" in
create) git init --quiet --bare "$HEROKU/git" && git remote add heroku "$HEROKU/git" ;;
config:set) shift; for pair in "$@"; do printf '%s\\0' "$pair" >> "$HEROKU/variables"; done ;;
*) exit 64 ;;
esac
"""


class Sandbox:
    """The copy, its environment and its server."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "mead"
        self.programs = directory / "bin"
        self.heroku = directory / "heroku"
        self.port = free_port()
        self.places = {"4040": str(self.port)}
        """What stands in the docs, and what it is here."""
        self.environment = {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "HOME": str(directory),
            "HEROKU": str(self.heroku),
            "MEAD_MCP_SERVER__PORT": str(self.port),
            "MEAD_MCP_TOKEN": MCP_TOKEN,
            "ANTHROPIC_API_KEY": "sk-ant-of-the-test",
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        self.output = directory / "server.log"
        self.server: subprocess.Popen[bytes] | None = None
        _copy(self.directory)
        self._add_programs()

    # -- what is around it -------------------------------------------------------------------------

    def _add_programs(self) -> None:
        self.programs.mkdir()
        self.heroku.mkdir()
        python = PYTHON.format(
            python=sys._base_executable,
            packages=next(path for path in sys.path if path.endswith("site-packages")),
            programs=Path(sys.prefix) / "bin",
        )
        for name, text in {"python3.11": python, "heroku": HEROKU}.items():
            (self.programs / name).write_text(text)
            (self.programs / name).chmod(0o755)

    def add_environment(self) -> None:
        """The virtual environment of this run, as the copy's own."""
        (self.directory / ".venv").symlink_to(sys.prefix)

    def add_history(self, *tags: str) -> None:
        """A repository: the first tag is what stands here, the others are ahead at the origin."""
        git = ["git", "-c", "user.name=Test", "-c", "user.email=test@localhost"]

        def run(*arguments: str) -> None:
            subprocess.run([*git, *arguments], cwd=self.directory, check=True, timeout=BOUND_S)

        run("init", "--quiet", "--initial-branch=main")
        with (self.directory / ".git" / "info" / "exclude").open("a") as file:
            file.write(".venv\n")  # .gitignore means a directory, and here it is a link
        run("add", ".")
        run("commit", "--quiet", "--message=Mead")
        origin = self.directory.parent / "origin"
        for number, tag in enumerate(tags):
            if number:
                run("commit", "--quiet", "--allow-empty", f"--message={tag}")
            run("tag", tag)
        run("clone", "--quiet", "--bare", ".", str(origin))
        run("reset", "--quiet", "--hard", *tags[:1])
        run("tag", "--delete", *tags)
        run("remote", "add", "origin", str(origin))

    def configure(self, *parts: str) -> None:
        """Write mead.toml, as `make run` would: for its owner alone."""
        file = self.directory / "mead.toml"
        file.write_text("".join(parts))
        file.chmod(0o600)

    # -- running the docs --------------------------------------------------------------------------

    def run(self, block: Block) -> str:
        """Run a block of shell commands; what it printed.  A server that it starts goes on."""
        text = self.here(block.text)
        if SERVES.search(text):
            self.serve(text)
            return self.log
        text = "".join(line for line in text.splitlines(keepends=True) if not _is_not_here(line))
        printed, at = "", 0
        for order in SYSTEMCTL.finditer(text):
            printed += self.shell(text[at : order.start()])
            self._systemctl(order["verb"])
            at = order.end()
        return printed + self.shell(text[at:])

    def here(self, text: str) -> str:
        """The text with the docs' places replaced."""
        for old, new in self.places.items():
            text = text.replace(old, new)
        return text

    def shell(self, text: str) -> str:
        """Run a script to its end; what it printed.  Raises AssertionError if it fails."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        assert done.returncode == 0, f"{text}\nended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def _systemctl(self, verb: str) -> None:
        if verb in ("restart", "stop"):
            self.stop()
        if verb in ("restart", "start", "enable"):
            self.serve("exec .venv/bin/gunicorn wsgi:app")

    # -- its server --------------------------------------------------------------------------------

    def serve(self, text: str, **environment: str) -> None:
        """Run a script whose last command is a server, and wait until that takes requests."""
        with self.output.open("wb") as output:
            self.server = subprocess.Popen(
                [*WITH_US, "bash", "-euo", "pipefail", "-c", text],
                cwd=self.directory,
                env={**self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert eventually(self._is_ready, BOUND_S)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What the last server has printed."""
        return self.output.read_text()

    def get(self, path: str, **options: object) -> requests.Response:
        """Ask the server."""
        options.setdefault("timeout", 10)
        return requests.get(self.url + path, **options)

    def stop(self) -> None:
        """As `systemctl stop` does: SIGTERM to the master, which is gone in time."""
        assert self.server is not None
        family = psutil.Process(self.server.pid).children(recursive=True)
        os.killpg(self.server.pid, signal.SIGTERM)
        self.server.wait(BOUND_S)
        assert psutil.wait_procs(family, 10)[1] == []
        self.server = None

    def destroy(self) -> None:
        """Whatever state it is in: nothing of it stays."""
        if self.server is not None and self.server.poll() is None:
            os.killpg(self.server.pid, signal.SIGKILL)
            self.server.wait(BOUND_S)

    def _is_ready(self) -> bool:
        assert self.server is not None
        if self.server.poll() is not None:
            raise AssertionError(self.log)
        gevent.sleep(0.05)
        return READY in self.log


@contextmanager
def sandbox(directory: Path, *parts: str, environment: bool = True) -> Iterator[Sandbox]:
    """A copy with that mead.toml (none: the file is not there), and gone afterwards."""
    made = Sandbox(directory)
    if environment:
        made.add_environment()
    if parts:
        made.configure(*parts)
    try:
        yield made
    finally:
        made.destroy()


def _copy(target: Path) -> None:
    """What git knows of, without the pictures."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("docs/screenshots/", "tests/")):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def _is_not_here(line: str) -> bool:
    return line.split(" ", 1)[0] in NOT_HERE


def variables(path: Path) -> Mapping[str, str]:
    """What `heroku config:set` was given."""
    pairs = path.read_text().split("\0")[:-1]
    return dict(pair.split("=", 1) for pair in pairs)
