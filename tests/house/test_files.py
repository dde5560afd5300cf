"""What holds for every file of the project."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MACHINE_PATH = re.compile(r"/(work|root|farm)/")
MOST_LINES = 400


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")


def test_no_file_names_a_path_of_the_machine_it_was_written_on():
    named = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in _tracked()
        for line in _text(path).splitlines()
        if MACHINE_PATH.search(line)
    ]
    assert not named


def test_no_module_is_longer_than_one_subject_needs():
    lengths = {
        str(path.relative_to(ROOT)): len(_text(path).splitlines())
        for path in _tracked()
        if path.suffix == ".py"
    }
    assert not {name: lines for name, lines in lengths.items() if lines > MOST_LINES}


def test_the_readme_names_the_two_commands():
    readme = (ROOT / "README.md").read_text()
    assert "make run" in readme
    assert "make test" in readme
