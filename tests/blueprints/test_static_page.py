"""A folder served as a page: what is in it, how it is kept, and nothing else."""

import gzip
import json

import pytest
from flask import Flask

from blueprints.static_page import StaticPage
from tools.vendor import MANIFEST, PLACE, files_of, folder_of


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "page"
    (inside / "vendor" / "lib-1.2.3").mkdir(parents=True)
    (inside / "index.html").write_text("<p>" + "hello " * 100)
    (inside / "main.js").write_text("short")
    (inside / "vendor" / "lib-1.2.3" / "lib.js").write_text("x" * 1000)
    (inside / "vendor" / "lib-1.2.3" / "LICENSE").write_text("words")
    (tmp_path / "secret.js").write_text("outside")
    (inside / "link.js").symlink_to(tmp_path / "secret.js")
    return inside


@pytest.fixture
def client(folder):
    page = StaticPage(folder)
    app = Flask(__name__, static_folder=None)
    app.url_map.merge_slashes = False  # as in the real application
    app.add_url_rule("/deck/", "index", lambda: page.answer(""))
    app.add_url_rule("/deck/<path:path>", "file", page.answer)
    return app.test_client()


def test_the_folder_itself_is_its_index(client):
    response = client.get("/deck/")
    assert response.content_type == "text/html; charset=utf-8"
    assert response.text.startswith("<p>hello")
    assert response.headers["Cache-Control"] == "no-cache"
    assert "Set-Cookie" not in response.headers


def test_the_headers_forbid_what_the_page_does_not_need(client):
    headers = client.get("/deck/main.js").headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "http" not in policy
    for name, value in {
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }.items():
        assert headers[name] == value


def test_only_a_path_with_a_version_may_be_kept_for_ever(client):
    assert "immutable" in client.get("/deck/vendor/lib-1.2.3/lib.js").headers["Cache-Control"]
    assert client.get("/deck/main.js").headers["Cache-Control"] == "no-cache"


def test_gzip_is_for_those_who_take_it_and_for_what_gains_by_it(client):
    zipped = client.get("/deck/", headers={"Accept-Encoding": "br, gzip"})
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in zipped.headers["Vary"]
    assert gzip.decompress(zipped.data) == client.get("/deck/").data
    refused = client.get("/deck/", headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers
    short = client.get("/deck/main.js", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in short.headers


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_what_the_browser_has_is_not_sent_again(client, encoding):
    etag = client.get("/deck/", headers={"Accept-Encoding": encoding}).headers["ETag"]
    again = client.get("/deck/", headers={"If-None-Match": etag, "Accept-Encoding": encoding})
    assert again.status_code == 304
    assert again.data == b""
    assert "Content-Security-Policy" in again.headers
    other = client.get("/deck/", headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "../secret.js",
        "%2e%2e/secret.js",
        "..%2fsecret.js",
        "link.js",
        "vendor",
        "vendor/",
        "vendor/lib-1.2.3/LICENSE",
        "/etc/passwd",
        "main.js/",
        "MAIN.JS",
        "main.js%00",
    ],
)
def test_nothing_else_can_be_asked_for(client, path):
    assert client.get(f"/deck/{path}").status_code == 404


def test_files_are_as_they_were_at_boot(folder, client):
    (folder / "main.js").write_text("changed")
    (folder / "new.js").write_text("new")
    assert client.get("/deck/main.js").text == "short"
    assert client.get("/deck/new.js").status_code == 404


def test_the_page_s_libraries_are_those_of_the_manifest():
    manifest = json.loads(MANIFEST.read_text())
    wanted = {
        f"{folder_of(name, package)}/{file}"
        for name, package in manifest.items()
        for _, file in files_of(package)
    }
    there = {path.relative_to(PLACE).as_posix() for path in PLACE.rglob("*") if path.is_file()}
    assert there == wanted
    for name, package in manifest.items():
        assert (PLACE / folder_of(name, package) / "LICENSE").stat().st_size > 500
