// Getting in and out; what the server's answers say about the page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, TOKEN, axe, ended, launch, live, openPage, send, until } from "../harness.mjs";
import { Proxy } from "../proxy.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

test("a wrong token says so and stays in the field, a right one opens the page", async () => {
  const page = await openPage(browser, server.address, { token: null });
  const field = page.locator("#token");
  await field.fill("wrong-token-wrong-token-wrong-token-00");
  await page.keyboard.press("Enter");
  await page.getByText("The server does not know this token.").waitFor();
  assert.equal(await field.inputValue(), "wrong-token-wrong-token-wrong-token-00");
  assert.equal(await field.getAttribute("type"), "password");
  await page.getByRole("button", { name: "Show" }).click();
  assert.equal(await field.getAttribute("type"), "text");
  assert.deepEqual(await axe(page), []);
  await field.fill(TOKEN);
  await page.keyboard.press("Enter");
  await page.locator("#composer-text").waitFor();
  assert.deepEqual(await page.context().cookies(), []);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a link's code lets in once and is wiped from the address and the history", async () => {
  const code = await server.loginCode();
  const page = await openPage(browser, server.address, { token: null, hash: `#code=${code}` });
  await page.locator("#composer-text").waitFor();
  assert.ok(!page.url().includes(code));
  const again = await openPage(browser, server.address, { token: null, hash: `#code=${code}` });
  await again.getByText("This code was used already").waitFor();
  assert.ok(!again.url().includes(code));
  // A pasted link works in the field.
  const other = await server.loginCode();
  await again.locator("#token").fill(`${server.address}#code=${other}`);
  await again.keyboard.press("Enter");
  await again.locator("#composer-text").waitFor();
  await page.context().close();
  await again.context().close();
});

test("signing out of one tab signs out the other, and a draft stays", async () => {
  const page = await openPage(browser, server.address);
  const other = await page.context().newPage();
  await other.addInitScript(([key, value]) => sessionStorage.setItem(key, value), [
    `mead /deck/ token`,
    JSON.stringify(TOKEN),
  ]);
  await other.goto(server.address);
  await other.locator("#composer-text").waitFor();
  await page.locator("#composer-text").fill("not sent yet");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.locator("#token").waitFor();
  await other.locator("#token").waitFor();
  await page.locator("#token").fill(TOKEN);
  await page.keyboard.press("Enter");
  await until(async () => (await page.locator("#composer-text").inputValue()) === "not sent yet");
  await page.context().close();
});

test("a new tab gets the token only when the reader of another agrees", async () => {
  const page = await openPage(browser, server.address);
  await page.locator("#composer-text").waitFor();
  const other = await page.context().newPage();
  await other.goto(server.address);
  await other.locator("#token").waitFor();
  await page.getByText("Another tab of this browser").waitFor();
  await other.getByText("Press Allow there").waitFor(); // where to look
  await page.getByRole("button", { name: "Allow", exact: true }).click();
  await other.locator("#composer-text").waitFor();
  await page.context().close();
});

test("a tab with nobody to ask does not send its reader to look, and names the command as everywhere", async () => {
  const page = await openPage(browser, server.address, { token: null });
  await page.getByText(".venv/bin/flask mead deck link", { exact: true }).waitFor();
  assert.equal(await page.locator(".offered").innerText(), "");
  await page.context().close();
});

test("the page is served with its headers, whole or not at all", async () => {
  const page = await fetch(server.address);
  assert.match(page.headers.get("content-security-policy"), /default-src 'none'.*frame-ancestors 'none'/);
  assert.equal(page.headers.get("referrer-policy"), "no-referrer");
  assert.equal(page.headers.get("cross-origin-opener-policy"), "same-origin");
  assert.equal(page.headers.get("cache-control"), "no-cache");
  assert.equal(page.headers.get("set-cookie"), null);
  const known = await fetch(server.address, { headers: { "If-None-Match": page.headers.get("etag") } });
  assert.equal(known.status, 304);
  const library = await fetch(`${server.address}vendor/lit-html-3.3.3/lit-html.js`);
  assert.match(library.headers.get("cache-control"), /immutable/);
  const paths = [
    "%2e%2e/%2e%2e/wsgi.py", "..%2f..%2fstatic_page.py", "vendor/lit-html-3.3.3/LICENSE", "css/", "none.js", "../package.json", "//etc/passwd",
  ];
  for (const path of paths) assert.ok([401, 404].includes((await fetch(server.address + path)).status), path);
});

test("the page works behind a path prefix", async () => {
  const proxy = await new Proxy(server, "/some/prefix").start();
  const page = await openPage(browser, proxy.address);
  await send(page, "hello");
  await ended(page);
  await live(page);
  assert.match(page.url(), /\/some\/prefix\/deck\/#\/c\//);
  assert.deepEqual(page.faults, []);
  await page.context().close();
  proxy.end();
});

test("the page works under TLS", { timeout: 60_000 }, async () => {
  const own = await new Server({ tls: true }).start();
  const page = await openPage(browser, own.address, { ignoreHTTPSErrors: true });
  const socket = page.waitForEvent("websocket");
  await send(page, "hello");
  assert.match((await socket).url(), /^wss:/);
  await ended(page);
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await own.end();
});

test("what is loaded is small, and the page is ready soon", { timeout: 60_000 }, async (context) => {
  const page = await openPage(browser, server.address);
  await page.locator("#composer-text").waitFor();
  const { bytes, count, ready } = await page.evaluate(() => {
    const entries = performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"));
    const own = entries.filter((entry) => /\.(js|css|svg)$|\/deck\/$/.test(new URL(entry.name).pathname));
    return {
      bytes: own.reduce((sum, entry) => sum + entry.encodedBodySize, 0),
      count: own.length,
      ready: performance.getEntriesByName("mead-interactive")[0].startTime,
    };
  });
  context.diagnostic(`${count} files, ${bytes} bytes compressed, interactive after ${Math.round(ready)} ms`);
  assert.ok(bytes > 50_000 && bytes < 300_000, `${bytes} bytes`);
  await page.context().close();
});
