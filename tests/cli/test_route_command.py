"""`flask mead route TEXT`."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mead.cli.route_command import route
from mead.config import Settings
from wsgi import create_app


def run(*arguments: str, **classifier: Any) -> Result:
    settings = Settings.build({"router": {"classifier": classifier}})
    with create_app(settings).app_context():
        return CliRunner().invoke(route, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("list files", "local: asks for a lookup\n"),
        ("¿Por qué?", "cloud: asks for reasoning: por que\n"),
        ("", "cloud: no routine request recognised\n"),
    ],
)
def test_it_prints_the_route_and_the_reason(text: str, line: str) -> None:
    result = run(text)
    assert (result.exit_code, result.output) == (0, line)


def test_json_has_both_parts() -> None:
    result = run("list files", "--json")
    assert json.loads(result.output) == {
        "route": "local",
        "reason": "asks for a lookup",
        "classified": "local",
    }


def test_it_uses_the_limits_and_words_of_the_settings() -> None:
    assert run("frobnicate", local_words=["frobnicate"]).output.startswith("local: ")
    assert run("list files", maximum_characters=5).output == (
        "cloud: input longer than 5 characters\n"
    )


def test_it_wants_a_text() -> None:
    result = run()
    assert result.exit_code == 2
    assert "Missing argument 'TEXT'" in result.output
