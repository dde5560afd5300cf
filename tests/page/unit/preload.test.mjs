// What index.html asks for at once is what the first paint imports: no module waits for another.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const DECK = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../blueprints/static/deck");
const read = (name) => readFileSync(path.join(DECK, name), "utf8");

// The static imports of a module and of those it imports.
function imported(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, from] of read(name).matchAll(/(?:^|[;\s}])(?:import|export)\b[^;"'()]*?["'](\.[^"']+)["']/g)) {
    imported(path.posix.join(path.posix.dirname(name), from), found);
  }
  return found;
}

test("the preloaded modules are those that are imported, each once", () => {
  const preloaded = [...read("index.html").matchAll(/rel="modulepreload" href="([^"]+)"/g)].map((match) => match[1]);
  assert.deepEqual([...preloaded].sort(), [...imported("main.js")].sort());
});
