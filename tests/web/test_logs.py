import logging
from datetime import timedelta
from types import SimpleNamespace

import pytest
from gunicorn.config import Config

from mead.web.logs import ACCESS_LOG_FORMAT, MeadLogger, where


@pytest.fixture
def make_logger():
    """The handlers write to the stderr that is there when they are made."""
    kept = {}
    for name in ("gunicorn.error", "gunicorn.access", "mead", "blueprints"):
        one = logging.getLogger(name)
        kept[name] = (list(one.handlers), one.level, one.propagate)
    yield lambda: MeadLogger(Config())
    for name, (handlers, level, propagate) in kept.items():
        one = logging.getLogger(name)
        one.handlers, one.propagate = handlers, propagate
        one.setLevel(level)


def raised() -> Exception:
    try:
        raise ValueError("the-secret")
    except ValueError as error:
        return error


def test_an_error_is_named_by_class_and_place():
    text = where(raised())
    assert text.startswith("ValueError in tests.web.test_logs, line ")
    assert "the-secret" not in text
    assert where(ValueError("the-secret")) == "ValueError"


def test_an_exception_is_logged_without_its_traceback(make_logger, capsys):
    logger = make_logger()
    try:
        raise ValueError("the-secret")
    except ValueError:
        logger.exception("Error handling request %s %s", "GET", "/deck/socket?ticket=the-secret")
    written = capsys.readouterr().err
    told = "Error handling request GET /deck/socket: ValueError in tests.web.test_logs"
    assert told in written
    assert "the-secret" not in written
    assert "Traceback" not in written


def test_what_is_no_request_is_not_quoted(make_logger, capsys):
    logger = make_logger()
    line = "Invalid HTTP Header: 'Authorization Bearer the-secret'"
    as_gunicorn_has_it = f"Invalid request from ip=192.0.2.1: {line}"
    try:
        raise ValueError(line)
    except ValueError:
        logger.warning(as_gunicorn_has_it)
        logger.warning("Something else: %s", "as it is")
    written = capsys.readouterr().err
    assert "Invalid request from ip=192.0.2.1: ValueError\n" in written
    assert "the-secret" not in written
    assert "Something else: as it is" in written


def test_our_own_lines_go_where_those_of_gunicorn_go(make_logger, capsys):
    make_logger()
    logging.getLogger("mead.web.anything").warning("said by mead")
    logging.getLogger("blueprints.anything").info("said by a blueprint")
    written = capsys.readouterr().err
    assert "[WARNING] said by mead" in written
    assert "[INFO] said by a blueprint" in written


def test_an_access_line_has_no_query_and_no_header(make_logger):
    environ = {
        "REQUEST_METHOD": "GET",
        "RAW_URI": "/deck/socket?ticket=the-secret",
        "QUERY_STRING": "ticket=the-secret",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_REFERER": "the-secret",
        "HTTP_AUTHORIZATION": "Basic dGhlLXNlY3JldDo=",
    }
    answer = SimpleNamespace(status="200 OK", sent=17, headers=[])
    atoms = make_logger().atoms(answer, None, environ, timedelta(milliseconds=1234))
    assert "the-secret" not in repr(atoms)
    line = ACCESS_LOG_FORMAT % atoms
    assert line.endswith('"GET /deck/socket HTTP/1.1" 200 17 1234ms')
