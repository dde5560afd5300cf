"""`make audit` says what is known, and never takes silence for a clean audit."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gevent.pywsgi import WSGIServer

from tests.helpers.server import free_port
from tools.audit import PAGES, Package, pins

ROOT = Path(__file__).parents[2]

Answer = Callable[[list[dict[str, Any]]], tuple[str, bytes]]


class Service:
    """OSV's API on loopback; `answer(queries)` gives a status line and a body."""

    def __init__(self) -> None:
        self.answer: Answer = nothing_known
        self.queries: list[list[dict[str, Any]]] = []
        self._server = WSGIServer(("127.0.0.1", 0), self._serve, log=None)
        self._server.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _serve(self, environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        assert (environ["REQUEST_METHOD"], environ["PATH_INFO"]) == ("POST", "/v1/querybatch")
        queries = json.loads(environ["wsgi.input"].read())["queries"]
        self.queries.append(queries)
        status, body = self.answer(queries)
        start(status, [("Content-Type", "application/json"), ("Location", f"{self.url}/other")])
        return [body]

    def close(self) -> None:
        self._server.stop()


def results(*each: object) -> tuple[str, bytes]:
    return "200 OK", json.dumps({"results": list(each)}).encode()


def nothing_known(queries: list[dict[str, Any]]) -> tuple[str, bytes]:
    return results(*({} for _ in queries))


def known(name: str, *ids: str) -> Answer:
    """Advisories against one package."""

    def answer(queries: list[dict[str, Any]]) -> tuple[str, bytes]:
        vulns = {"vulns": [{"id": each, "modified": "2026-01-01T00:00:00Z"} for each in ids]}
        return results(*(vulns if one["package"]["name"] == name else {} for one in queries))

    return answer


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


def audit(url: str) -> tuple[int, str]:
    """The exit status and the output of the command that `make audit` runs."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.audit", "--service", url],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_every_pin_is_asked_for_once_with_its_registry(service: Service) -> None:
    status, printed = audit(service.url)
    assert (status, printed) == (0, f"{len(pins())} packages audited; known advisories: none\n")
    (asked,) = service.queries
    told = {(one["package"]["ecosystem"], one["package"]["name"]) for one in asked}
    assert {
        ("PyPI", "gevent"),
        ("PyPI", "pytest"),
        ("PyPI", "xllamacpp"),
        ("npm", "dompurify"),
    } <= told
    assert all(set(one) == {"package", "version"} for one in asked)


def test_each_advisory_is_a_line_and_an_exit_status(service: Service) -> None:
    service.answer = known("requests", "GHSA-aaaa", "PYSEC-2026-1")
    status, printed = audit(service.url)
    version = next(one.version for one in pins() if one.name == "requests")
    assert status == 1
    assert printed.splitlines()[:2] == [
        f"requests {version} (PyPI): https://osv.dev/vulnerability/{each}"
        for each in ("GHSA-aaaa", "PYSEC-2026-1")
    ]
    assert printed.endswith("known advisories: 2\n")


def test_what_comes_on_a_second_page_counts(service: Service) -> None:
    def answer(queries: list[dict[str, Any]]) -> tuple[str, bytes]:
        if "page_token" in queries[0]:
            return known(queries[0]["package"]["name"], "GHSA-late")(queries)
        return results({"next_page_token": "2"}, *({} for _ in queries[1:]))

    service.answer = answer
    status, printed = audit(service.url)
    assert status == 1
    assert "GHSA-late" in printed
    assert [len(asked) for asked in service.queries] == [len(pins()), 1]


UNREADABLE: dict[str, Answer] = {
    "an error": lambda _: ("500 Internal Server Error", b"{}"),
    "a limit": lambda _: ("429 Too Many Requests", b"{}"),
    "a redirect": lambda _: ("302 Found", b""),
    "a web page": lambda _: ("200 OK", b"<html>sign in</html>"),
    "nothing": lambda _: ("200 OK", b""),
    "no results": lambda _: ("200 OK", b"{}"),
    "a list": lambda _: ("200 OK", b"[]"),
    "too few results": lambda _: results({}),
    "results that are none": lambda asked: results(*("none" for _ in asked)),
    "null in place of advisories": lambda asked: results(*({"vulns": None} for _ in asked)),
    "advisories without a name": lambda asked: results(*({"vulns": [{}]} for _ in asked)),
    "a name that steers": lambda asked: results(*({"vulns": [{"id": "\x1b["}]} for _ in asked)),
    "pages without end": lambda asked: results(*({"next_page_token": "x"} for _ in asked)),
}


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_answer_that_says_nothing_is_no_clean_audit(service: Service, answer: Answer) -> None:
    service.answer = answer
    status, printed = audit(service.url)
    assert status == 2
    assert printed.startswith(f"NOT AUDITED: {service.url} could not be asked (")
    assert "no clean audit" in printed
    assert len(service.queries) <= PAGES


def test_a_service_that_is_not_there_is_no_clean_audit() -> None:
    status, printed = audit(f"http://127.0.0.1:{free_port()}")
    assert status == 2
    assert printed.startswith("NOT AUDITED: ")


def test_the_pins_are_those_of_every_requirements_file_and_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "vendor.json", tmp_path / "tools")
    (tmp_path / "requirements.txt").write_text("# why\none==1.0\n\ntwo[extra]==2.0\n")
    (tmp_path / "requirements-more.txt").write_text("-r requirements.txt\nthree==3\n")
    found = pins(tmp_path)
    assert {Package("PyPI", "one", "1.0"), Package("PyPI", "two", "2.0")} <= set(found)
    assert Package("PyPI", "three", "3") in found
    assert {one.name for one in found if one.ecosystem == "npm"} == set(
        json.loads((ROOT / "tools" / "vendor.json").read_text())
    )
    (tmp_path / "requirements.txt").write_text("one>=1.0\n")
    with pytest.raises(ValueError, match="pins nothing"):
        pins(tmp_path)
