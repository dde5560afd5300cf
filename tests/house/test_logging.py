"""No log line can hold a traceback: its last line quotes what a client, model or server sent."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [*(ROOT / "mead").rglob("*.py"), *(ROOT / "blueprints").rglob("*.py")]
FORBIDDEN = {"exception", "print_exc", "print_exception", "format_exc", "print_stack"}


def _shown(source: str) -> list[str]:
    """The calls that would write a traceback."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        ast.unparse(call)
        for call in calls
        if (isinstance(call.func, ast.Attribute) and call.func.attr in FORBIDDEN)
        or any(word.arg in ("exc_info", "stack_info") for word in call.keywords)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_writes_a_traceback(path):
    assert _shown(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    ["log.exception('x')", "log.error('x', exc_info=error)", "traceback.print_exc()"],
)
def test_a_traceback_would_be_found(line):
    assert _shown(line)
