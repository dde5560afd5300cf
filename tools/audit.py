"""Ask for known advisories against every pinned package: `make audit`.

All of requirements*.txt, and the deck page's libraries from npm (tools/vendor.json), are asked for
in one request to OSV (https://osv.dev), which gathers the advisories of PyPI, npm and GitHub.  Only
names and versions are sent.

    0  asked, and there is none
    1  there are some, one line each
    2  the service could not be asked or understood: nothing is known, which is not "none"
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import requests

ROOT: Final = Path(__file__).parents[1]
SERVICE: Final = "https://api.osv.dev"
PAGE: Final = "https://osv.dev/vulnerability"
TIMEOUT_S: Final = 30.0
ANSWER_BYTES: Final = 16 * 1024 * 1024
PAGES: Final = 20

NONE, SOME, UNKNOWN = 0, 1, 2

_ODD: Final = "its answer has another shape"
_PIN: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(?P<version>\S+)")


class Package(NamedTuple):
    """One pin."""

    ecosystem: str
    """OSV's word for the registry."""
    name: str
    version: str


class Page(NamedTuple):
    """What is known of one package, or a part of it."""

    ids: tuple[str, ...]
    more: str | None
    """Where the rest is."""


class Unanswered(Exception):
    """The service gave no answer that says anything; the text is a reason in few words."""


def pins(root: Path = ROOT) -> list[Package]:
    """Every pinned package of the project.  Raises ValueError for a line that pins nothing."""
    found = {
        Package("PyPI", pin["name"], pin["version"])
        for path in sorted(root.glob("requirements*.txt"))
        for pin in _pins_of(path)
    }
    vendored = json.loads((root / "tools" / "vendor.json").read_text())
    found |= {Package("npm", name, entry["version"]) for name, entry in vendored.items()}
    return sorted(found)


def _pins_of(path: Path) -> Iterator[re.Match[str]]:
    for line in path.read_text().splitlines():
        if not line.strip() or line[0] in "#-":
            continue
        pin = _PIN.fullmatch(line.strip())
        if pin is None:
            raise ValueError(f"{path.name}: {line!r} pins nothing")
        yield pin


def advisories(packages: Sequence[Package], service: str = SERVICE) -> dict[Package, list[str]]:
    """The ids of the advisories against each package that has any.

    Raises Unanswered.  Blocks on: network.
    """
    found: dict[Package, list[str]] = {}
    waiting: dict[Package, str | None] = dict.fromkeys(packages)
    for _ in range(PAGES):
        if not waiting:
            break
        pages = _pages(waiting, service)
        for one, page in pages.items():
            if page.ids:
                found[one] = sorted({*found.get(one, ()), *page.ids})
        waiting = {one: page.more for one, page in pages.items() if page.more}
    if waiting:
        raise Unanswered("its answers do not end")
    return found


def _pages(waiting: Mapping[Package, str | None], service: str) -> dict[Package, Page]:
    """One page for each package; results come in the order of the queries."""
    shape = _asked(
        f"{service}/v1/querybatch", {"queries": [_query(*each) for each in waiting.items()]}
    )
    results = shape.get("results") if isinstance(shape, dict) else None
    if not isinstance(results, list) or len(results) != len(waiting):
        raise Unanswered(_ODD)
    return {one: _page(result) for one, result in zip(waiting, results, strict=True)}


def _query(package: Package, page: str | None) -> dict[str, Any]:
    query: dict[str, Any] = {
        "package": {"ecosystem": package.ecosystem, "name": package.name},
        "version": package.version,
    }
    return query if page is None else {**query, "page_token": page}


def _asked(url: str, body: dict[str, Any]) -> Any:
    try:
        with requests.post(
            url,
            json=body,
            headers={"Accept-Encoding": "identity"},
            timeout=TIMEOUT_S,
            allow_redirects=False,
            stream=True,
        ) as answer:
            if answer.status_code != requests.codes.ok:
                raise Unanswered(f"it answered {answer.status_code}")
            data = answer.raw.read(ANSWER_BYTES + 1)
    except (requests.RequestException, OSError) as error:
        raise Unanswered(type(error).__name__) from None
    try:
        return json.loads(data)
    except ValueError:
        raise Unanswered("its answer is not JSON") from None


def _page(result: object) -> Page:
    """Raises Unanswered: what cannot be read must not count as none."""
    shape = result if isinstance(result, dict) else {"vulns": None}
    listed, more = shape.get("vulns", []), shape.get("next_page_token")
    ids = [one.get("id") if isinstance(one, dict) else None for one in listed or ()]
    if not isinstance(listed, list) or not all(isinstance(e, str) and e.isprintable() for e in ids):
        raise Unanswered(_ODD)
    return Page(tuple(map(str, ids)), str(more) if more else None)


def report(packages: Sequence[Package], service: str) -> int:
    """Print what is known; the exit status."""
    try:
        found = advisories(packages, service)
    except Unanswered as error:
        click.echo(f"NOT AUDITED: {service} could not be asked ({error}).")
        click.echo(f"Nothing is known of these {len(packages)} packages; that is no clean audit.")
        return UNKNOWN
    for one, ids in found.items():
        for each in ids:
            click.echo(f"{one.name} {one.version} ({one.ecosystem}): {PAGE}/{each}")
    count = sum(map(len, found.values()))
    click.echo(f"{len(packages)} packages audited; known advisories: {count or 'none'}")
    return SOME if found else NONE


@click.command()
@click.option("--service", default=SERVICE, show_default=True, help="Where OSV's API is.")
def main(service: str) -> None:
    """Ask for known advisories against every pinned package."""
    sys.exit(report(pins(), service.rstrip("/")))


if __name__ == "__main__":
    main()
