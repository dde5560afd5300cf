// How the tests' server is configured when it is a real gunicorn.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";

const TOML = (port, folder, python) => `
[runtime]
turn_timeout_ms = 120000

[storage]
directory = "${folder}/store"

[mcp_server]
port = ${port}

[deck]
token = "deck-token-for-tests-0123456789abcde"
heartbeat_ms = 2000
queue_limit = 3

[router.slots.local]
provider = "tests.page.provider:PageProvider"
model = "llama3.2:3b"

[router.slots.cloud]
provider = "tests.page.provider:PageProvider"
model = "claude-sonnet-5-5"

[[mcp.servers]]
name = "files"
transport = "stdio"
command = "${python}"
arguments = ["-m", "tests.page.tool_server"]
directory = "${process.cwd()}"
tools = { list = "read", sleep = "read", write = "effect" }
`;

export function configure(folder, port, python) {
  const file = path.join(folder, "mead.toml");
  writeFileSync(file, TOML(port, folder, python));
  return {
    command: [python, "-m", "gunicorn", "wsgi:app"],
    environment: { MEAD_CONFIG: file },
  };
}

// What `flask mead deck link` prints holds the code.
export function loginCode(folder, python, root) {
  const environment = { ...process.env, MEAD_CONFIG: path.join(folder, "mead.toml") };
  const printed = execFileSync(python, ["-m", "flask", "mead", "deck", "link"], { cwd: root, env: environment, encoding: "utf8" });
  return /#code=([\w-]+)/.exec(printed)[1];
}
