import logging

import pytest
from flask import abort

from blueprints.errors import STATUS_OF_CODE
from blueprints.guards import Access, access
from mead import errors
from mead.errors import Busy, MeadError, SessionNotFound, TurnFailed
from tests.blueprints.conftest import make_app


@pytest.fixture
def raising():
    app = make_app()

    def ask(error):
        @app.get("/raise")
        @access(Access.OPEN)
        def view() -> None:
            if isinstance(error, int):
                abort(error)
            raise error

        return app.test_client().get("/raise")

    return ask


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (SessionNotFound(), 404, "not_found"),
        (Busy(), 429, "busy"),
        (TurnFailed("overloaded"), 502, "failed"),
        (MeadError("unforeseen"), 500, "error"),
    ],
)
def test_an_error_of_the_runtime_keeps_its_code_and_sentence(raising, error, status, code):
    answer = raising(error)
    assert answer.status_code == status
    assert answer.json == {"error": code, "message": error.message}


@pytest.mark.parametrize(
    ("status", "code"), [(400, "bad_request"), (415, "unsupported_media_type"), (418, "error")]
)
def test_an_http_error_is_json(raising, status, code):
    answer = raising(status)
    assert answer.status_code == status
    assert answer.json == {"error": code}


def test_a_bug_is_named_by_its_class_alone(raising, caplog):
    with caplog.at_level(logging.DEBUG):
        answer = raising(ZeroDivisionError("the-secret"))
    assert answer.status_code == 500
    assert answer.json == {"error": "internal_error"}
    assert [record.getMessage() for record in caplog.records] == [
        "a bug in a request: ZeroDivisionError"
    ]
    assert "the-secret" not in caplog.text
    assert "Traceback" not in caplog.text


def test_every_code_of_the_table_exists():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    known = {kind.code for kind in kinds if issubclass(kind, MeadError)}
    assert set(STATUS_OF_CODE) <= known
