// How the tests' server is configured: scripted models in both slots, tools of three kinds.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";

const toml = (folder, { port, python, root, eventLogLimit = 10_000, storage = true, tls = false, deck = "" }) => `
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
${deck}

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

// The code of the link that the command prints.
export function loginCode(folder, python, root) {
  const environment = { ...process.env, MEAD_CONFIG: path.join(folder, "mead.toml") };
  const command = ["-m", "flask", "mead", "deck", "link"];
  const printed = execFileSync(python, command, { cwd: root, env: environment, encoding: "utf8" });
  return /#code=([\w-]+)/.exec(printed)[1];
}
