// A real gunicorn, a real browser, and what the page's tests do again and again.
//
// By hand: `node --test tests/page/browser/tools.test.mjs`, once pytest has installed build/page.
// MEAD_PAGE_MODULES, MEAD_PAGE_PYTHON and MEAD_CHROMIUM name other places than the usual ones.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { configure, loginCode } from "./gunicorn.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
export const ROOT = path.resolve(HERE, "../..");
const MODULES = process.env.MEAD_PAGE_MODULES ?? path.join(ROOT, "build/page/node_modules");
const PYTHON = process.env.MEAD_PAGE_PYTHON ?? path.join(ROOT, ".venv/bin/python");
export const TOKEN = "deck-token-for-tests-0123456789abcde";

const require = createRequire(path.join(MODULES, "x.js"));
const { chromium } = require("playwright-core");
export const axeSource = require("axe-core").source;

const freePort = () =>
  new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

// Whatever becomes of a test: no server of it outlives this process, and none keeps it alive.
const running = new Set();
const killed = (child) => {
  try {
    process.kill(-child.pid, "SIGKILL");
    return true;
  } catch {
    return false; // it is gone already
  }
};
process.on("exit", () => running.forEach(killed));
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => process.exit(1));

// A real process that can be killed and started again in the same folder.
export class Server {
  constructor(options = {}) {
    this.options = options;
    this.folder = mkdtempSync(path.join(tmpdir(), "mead-page-"));
  }

  async start() {
    if (this.port) await this.#run();
    else {
      do this.port = await freePort(); // another process may take it meanwhile
      while (!(await this.#run({ mayBeTaken: true })));
    }
    return this;
  }

  async #run({ mayBeTaken = false } = {}) {
    configure(this.folder, { port: this.port, python: PYTHON, root: ROOT, ...this.options });
    this.process = spawn(PYTHON, ["-m", "gunicorn", "wsgi:app"], {
      cwd: ROOT,
      env: { ...process.env, MEAD_CONFIG: path.join(this.folder, "mead.toml") },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true, // a group of its own: all of it can be killed
    });
    this.output = "";
    const heard = (data) => (this.output += data);
    this.process.stdout.on("data", heard);
    this.process.stderr.on("data", heard);
    running.add(this.process);
    for (const handle of [this.process, this.process.stdout, this.process.stderr]) handle.unref();
    await until(() => this.output.includes("Mead is ready") || this.process.exitCode !== null, 60_000);
    if (mayBeTaken && this.output.includes("Connection in use") && this.process.exitCode !== null) return false;
    assert.equal(this.process.exitCode, null, this.output);
    return true;
  }

  get address() {
    return `http${this.options.tls ? "s" : ""}://127.0.0.1:${this.port}/deck/`;
  }

  // SIGKILL to all of it: nothing is tidied up.
  async kill() {
    const { process: child } = this;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.ref();
    if (killed(child) && child.exitCode === null && child.signalCode === null) await gone;
    running.delete(child);
  }

  async end() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  // A single-use code, as a link carries it.
  loginCode() {
    return loginCode(this.folder, PYTHON, ROOT);
  }

  async call(method, route, body) {
    const response = await fetch(this.address + route, {
      method,
      headers: { Authorization: `Bearer ${TOKEN}`, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    return text ? JSON.parse(text) : null;
  }
}

// Waits are bounded so that a fault is told, not so that a loaded machine fails.
const SOON_MS = 20_000;

export async function until(check, ms = SOON_MS) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await check();
    if (value) return value;
    assert.ok(Date.now() < end, `not within ${ms} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const launch = (...more) =>
  chromium.launch({ executablePath: process.env.MEAD_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", ...more] });

// A page of a signed-in reader. What must never happen is noted in `faults` while it lives.
// `prepare` has the page before it is loaded.
export async function openPage(browser, address, { token = TOKEN, hash = "", prepare, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US", ...options });
  context.setDefaultTimeout(SOON_MS);
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => (faults.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "blob:" && url.protocol !== "data:" && url.host !== new URL(address).host) faults.push(`request: ${url}`);
  });
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) faults.push(`console: ${message.text()}`);
  });
  if (token) {
    const base = new URL(address).pathname;
    await page.addInitScript(
      ([key, value]) => sessionStorage.getItem("mead test") || (sessionStorage.setItem(key, value), sessionStorage.setItem("mead test", "1")),
      [`mead ${base} token`, JSON.stringify(token)],
    );
  }
  await prepare?.(page);
  await page.goto(address + hash);
  return Object.assign(page, { faults });
}

export async function send(page, text) {
  page.before = await page.locator("article.turn").evaluateAll((turns) => turns.map(({ id }) => id));
  await page.locator("#composer-text").fill(text);
  const isTouch = await page.evaluate(() => matchMedia("(pointer: coarse)").matches);
  if (isTouch) await page.locator(".send").click(); // there Enter breaks the line
  else await page.keyboard.press("Enter");
}

// The newest turn, once it has ended and is shown in full; never one that stood before the last `send`.
export async function ended(page, ms = 30_000) {
  const isOver = (before) => {
    const turn = document.querySelector("article.turn:last-child");
    return turn && !before.includes(turn.id) && turn.matches("[aria-busy=false]:has(.tokens:not(:empty))");
  };
  await page.waitForFunction(isOver, page.before ?? [], { timeout: ms });
  return page.locator("article.turn").last();
}

export const live = (page) => page.locator(".status[data-kind=live]").waitFor();

// axe's findings of weight, as lines.
export async function axe(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }),
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary}`));
}
