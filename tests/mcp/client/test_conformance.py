"""The official conformance suite's client scenarios, against the hub in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
BASELINE = Path(__file__).parent / "conformance-baseline.yml"
DRIVER = f"{sys.executable} -m tests.helpers.conformance_client"

STABLE = "@modelcontextprotocol/conformance"
NEXT = "conformance-next"
SCENARIOS = [
    (STABLE, "initialize"),
    (STABLE, "tools_call"),
    (STABLE, "sse-retry"),
    (NEXT, "initialize"),
    (NEXT, "tools_call"),
    (NEXT, "sse-retry"),
    (NEXT, "request-metadata"),
    (NEXT, "http-standard-headers"),
    (NEXT, "http-custom-headers"),
    (NEXT, "http-invalid-tool-headers"),
    (NEXT, "json-schema-ref-no-deref"),
    (NEXT, "json-schema-2020-12-preservation"),
    (NEXT, "sep-2322-client-request-state"),
]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]


def run(peers, package, scenario, output):
    return subprocess.run(
        [
            str(peers.node),
            str(peers.module(f"{package}/dist/index.js")),
            "client",
            "--command",
            DRIVER,
            "--scenario",
            scenario,
            "--timeout",
            "60000",
            "--expected-failures",
            str(BASELINE),
            "-o",
            str(output),
        ],
        cwd=REPOSITORY,
        env={"PATH": peers.path, "HOME": str(output)},
        capture_output=True,
        text=True,
        check=False,
    )


def checks(output):
    (file,) = output.rglob("checks.json")
    return json.loads(file.read_text())


@pytest.mark.parametrize(("package", "scenario"), SCENARIOS)
def test_the_hub_conforms(peers, tmp_path, package, scenario):
    ended = run(peers, package, scenario, tmp_path)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    found = checks(tmp_path)
    assert {check["status"] for check in found} <= {"SUCCESS", "INFO", "SKIPPED"}
    # Some scenarios "pass" when nobody calls; something has to have been seen.
    assert [check for check in found if check["status"] == "SUCCESS"]


@pytest.mark.parametrize("package", [STABLE, NEXT])
def test_the_baseline_is_what_fails(peers, tmp_path, package):
    scenario = "elicitation-sep1034-client-defaults"
    assert run(peers, package, scenario, tmp_path).returncode == 0
    assert "FAILURE" in {check["status"] for check in checks(tmp_path)}
