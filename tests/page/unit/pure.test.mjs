import assert from "node:assert/strict";
import { test } from "node:test";

import { afterClose, afterTicket, delay, LONGEST_MS, retryAfter } from "../../../blueprints/static/deck/core/backoff.js";
import { frames, longestFit, measure, newId, parse } from "../../../blueprints/static/deck/core/protocol.js";
import { destination, isLoopback, lastCode, timeLeft } from "../../../blueprints/static/deck/core/select.js";
import { argumentLines, visible } from "../../../blueprints/static/deck/core/text.js";
import { hostToShow, safeHref } from "../../../blueprints/static/deck/markdown/links.js";

const LIMITS = { frame_bytes: 65_536, text_characters: 60_000 };

test("frames say what the protocol asks for", () => {
  assert.deepEqual(JSON.parse(frames.prompt({ id: "a", text: "x", route: null })), {
    type: "prompt.send",
    payload: { client_message_id: "a", text: "x" },
  });
  assert.deepEqual(JSON.parse(frames.resume(3, null, "d")).payload, { last_sequence: 3, device_id: "d" });
  assert.match(newId(), /^[A-Za-z0-9_-]{1,64}$/);
});

test("what is no frame is passed over", () => {
  for (const text of ["", "nonsense", "null", "3", "[]", '{"type":1}', '{"type":"a","payload":[]}', '{"type":"a","payload":3}']) {
    assert.equal(parse(text), null, text);
  }
  assert.deepEqual(parse('{"type":"a"}').payload, {});
});

test("a prompt is measured in code points and in bytes", () => {
  assert.equal(measure("\u{1F600}".repeat(10), LIMITS).characters, 10);
  assert.ok(measure("x".repeat(60_000), LIMITS).fits);
  assert.ok(!measure("x".repeat(60_001), LIMITS).fits);
  assert.ok(!measure("\u{1F600}".repeat(17_000), LIMITS).fits, "68 kB in UTF-8");
  assert.ok(!measure('"'.repeat(40_000), LIMITS).fits, "each is two bytes in JSON");
});

test("the excess begins where the limit is, never inside a character", () => {
  assert.equal(longestFit("x".repeat(70_000), LIMITS), 60_000);
  const faces = "\u{1F600}".repeat(20_000);
  const fit = longestFit(faces, LIMITS);
  assert.equal(fit % 2, 0);
  assert.ok(measure(faces.slice(0, fit), LIMITS).fits);
  assert.ok(!measure(faces.slice(0, fit + 2), LIMITS).fits);
});

test("delays double up to their limit and are never the same for all", () => {
  assert.equal(delay(0, { random: () => 0 }), 250);
  assert.equal(delay(0, { random: () => 1 }), 500);
  assert.equal(delay(3, { random: () => 1 }), 4000);
  assert.equal(delay(900, { random: () => 1 }), LONGEST_MS);
  assert.equal(delay(0, { hidden: true }), 60_000);
});

test("each ending of a connection asks for what the table says", () => {
  const cases = [
    [1001, "idle", "now"], [1013, "", "now"], [4409, "", "now"], [1001, "restart", "wait"],
    [1006, "", "wait"], [1011, "", "wait"], [4999, "", "wait"], [4404, "", "deleted"],
    [1008, "", "stop"], [1009, "", "stop"],
  ];
  for (const [code, reason, wanted] of cases) assert.equal(afterClose(code, reason), wanted, `${code} ${reason}`);
  assert.equal(afterClose(4401, "", { noResume: 1 }), "now");
  assert.equal(afterClose(4401, "", { noResume: 2 }), "wait");
  const tickets = { 401: "signin", 403: "forbidden", 404: "deleted", 409: "damaged", 400: "stop", 503: "wait", 429: "wait", 0: "wait" };
  for (const [status, wanted] of Object.entries(tickets)) assert.equal(afterTicket(Number(status)), wanted);
});

test("Retry-After is seconds or a date", () => {
  assert.equal(retryAfter("7"), 7000);
  assert.equal(retryAfter("Mon, 30 Nov 2026 14:00:10 GMT", Date.parse("2026-11-30T14:00:00Z")), 10_000);
  assert.equal(retryAfter(null), null);
  assert.equal(retryAfter("soon"), null);
});

test("only a loopback host is this machine", () => {
  for (const host of ["127.0.0.1:11434", "127.9.9.9", "[::1]:80", "localhost:1", "LOCALHOST"]) assert.ok(isLoopback(host), host);
  for (const host of ["", null, "10.0.0.1:1", "127.0.0.1.evil.example", "api.anthropic.com:443", "localhost.example:1", "1127.0.0.1"]) {
    assert.ok(!isLoopback(host), host);
  }
});

test("the lock's word stands only where it is certain", () => {
  const turn = (routed, toolCalls = 0) => ({ routed, toolCalls });
  assert.equal(destination(turn(null)), "unknown");
  assert.equal(destination(turn({ route: "local", host: "127.0.0.1:1" })), "stayed");
  assert.equal(destination(turn({ route: "local", host: null })), "stayed");
  assert.equal(destination(turn({ route: "local", host: "127.0.0.1:1" }, 1)), "near");
  assert.equal(destination(turn({ route: "local", host: "192.168.1.9:1" })), "sent");
  assert.equal(destination(turn({ route: "cloud", host: "127.0.0.1:1" })), "sent");
  assert.equal(destination(turn({ route: "cloud", host: null })), "unused");
});

test("time left counts by the server's clock", () => {
  const request = { expiresAt: "2026-11-30T14:02:00.000Z" };
  const now = Date.parse("2026-11-30T14:01:00.000Z");
  assert.equal(timeLeft(request, now, 0), 60_000);
  assert.equal(timeLeft(request, now + 30_000, 30_000), 60_000);
  assert.equal(timeLeft(request, now + 900_000, 0), 0);
});

test("the newest code is found, without its fence", () => {
  const turns = new Map([["a", { parts: [{ kind: "text", text: "```js\nold\n```\nand\n~~~\nnew\nline\n~~~\n" }] }]]);
  assert.equal(lastCode({ turns }), "new\nline");
  assert.equal(lastCode({ turns: new Map() }), null);
});

test("characters that reorder or hide text are shown", () => {
  assert.equal(visible("a\u202eb\u2066"), "a\u27e8U+202E\u27e9b\u27e8U+2066\u27e9");
  assert.equal(visible("a\u0000\tb\n"), "a\u27e8U+0000\u27e9\tb\n");
  assert.equal(argumentLines({ path: "a/b", lines: [1, 2] }), 'path: a/b\nlines: [\n  1,\n  2\n]');
});

test("only three kinds of address are followed", () => {
  for (const good of ["https://example.org/a", "http://example.org", "mailto:a@example.org"]) assert.ok(safeHref(good), good);
  const bad = [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "data:image/png;base64,x", "blob:https://a/b",
    "file:///etc/passwd", "vbscript:x", "//example.org", "/relative", "relative", "#/c/x", "java\nscript:x",
    "\u0001javascript:x", "https://user:word@example.org/", "", "ftp://example.org", "https://",
  ];
  for (const href of bad) assert.equal(safeHref(href), null, href);
});

test("the host is shown where the text does not name it", () => {
  assert.equal(hostToShow("the notes", "https://example.org/n"), "example.org");
  assert.equal(hostToShow("https://example.org/n", "https://example.org/n"), null);
  assert.equal(hostToShow("example.org", "https://example.org/n"), null);
  assert.equal(hostToShow("https://bank.example", "https://evil.example/"), "evil.example");
  assert.equal(hostToShow("example.org.evil", "https://example.org/"), "example.org");
});
