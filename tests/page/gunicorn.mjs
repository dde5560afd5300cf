// How the tests' server is configured: scripted models in both slots, tools of three kinds.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";

const toml = (folder, { port, python, root, eventLogLimit = 10_000, storage = true, tls = false }) => `
[runtime]
turn_timeout_ms = 120000
${storage ? `\n[storage]\ndirectory = "${folder}/store"\n` : ""}
[mcp_server]
port = ${port}
${tls ? `certfile = "${root}/tests/helpers/model_test.pem"\nkeyfile = "${root}/tests/helpers/model_test.pem"\n` : ""}
[deck]
token = "deck-token-for-tests-0123456789abcde"
heartbeat_ms = 2000
queue_limit = 3
event_log_limit = ${eventLogLimit}

[router.slots.local]
provider = "tests.page.provider:PageProvider"
model = "llama3.2:3b"
host = "127.0.0.1:11434"

[router.slots.cloud]
provider = "tests.page.provider:PageProvider"
model = "claude-sonnet-5-5"
host = "api.example.com:443"

[[mcp.servers]]
name = "files"
transport = "stdio"
command = "${python}"
arguments = ["-m", "tests.page.tool_server"]
directory = "${root}"
tools = { list = "read", sleep = "read", write = "effect" }
`;

export function configure(folder, options) {
  writeFileSync(path.join(folder, "mead.toml"), toml(folder, options));
}

// A code as a link carries it, from the running server's control socket.
const MINT = `
import sys
from pathlib import Path
from mead.control.client import ControlClient
print(ControlClient(Path(sys.argv[1])).call("deck_code"))
`;

export const loginCode = (folder, python, root) =>
  execFileSync(python, ["-c", MINT, path.join(folder, "store")], { cwd: root, encoding: "utf8" }).trim();
