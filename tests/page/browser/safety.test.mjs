// What a model, a tool or a title says can never run, load or hide anything.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { ROOT, Server, ended, launch, openPage, send, until } from "../harness.mjs";

const PAYLOADS = JSON.parse(readFileSync(path.join(ROOT, "tests/page/payloads.json"), "utf8"));
let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

// What must hold of the whole document, whatever was said.
const state = (page) =>
  page.evaluate(() => {
    const all = [...document.querySelectorAll("*")];
    const inTurns = [...document.querySelectorAll("article *")];
    const bad = "script iframe object embed form base meta link style img video audio source input select textarea marquee math template";
    return {
      hit: globalThis.__hit ?? null,
      handlers: all.filter((one) => [...one.attributes].some(({ name }) => /^on|^style$|^srcdoc$/.test(name))).map((one) => one.outerHTML.slice(0, 100)),
      links: [...document.querySelectorAll("article a")].map((one) => one.href).filter((href) => !/^(https?|mailto):/.test(href)),
      unsafe: [...document.querySelectorAll("article a")].filter((one) => one.rel !== "noopener noreferrer").length,
      tags: inTurns.filter((one) => bad.split(" ").includes(one.localName)).map((one) => one.localName),
      doubled: document.querySelectorAll("#composer-text").length,
    };
  });

const CLEAN = { hit: null, handlers: [], links: [], unsafe: 0, tags: [], doubled: 1 };

test(`${PAYLOADS.length} payloads in answers`, { timeout: 240_000 }, async () => {
  assert.ok(PAYLOADS.length >= 60);
  let page = await openPage(browser, server.address);
  for (const [at, payload] of PAYLOADS.entries()) {
    await send(page, `xss ${at}`);
    await page.locator("article.turn:last-child .prompt-text").getByText(`xss ${at}`, { exact: true }).waitFor();
    const turn = await ended(page);
    assert.match(await turn.innerText(), /Before[\s\S]*after/, payload);
    assert.deepEqual(await state(page), CLEAN, payload);
  }
  // Whatever can be touched is touched.
  await page.evaluate(() => {
    for (const element of document.querySelectorAll("article *")) {
      for (const type of ["mouseover", "focus", "toggle", "error", "load"]) element.dispatchEvent(new Event(type));
    }
  });
  assert.deepEqual(await state(page), CLEAN);
  assert.deepEqual(page.faults, []);
  // The same from the log, parsed in one piece.
  await page.reload();
  await ended(page);
  await until(async () => (await page.locator("article.turn[aria-busy=true]").count()) === 0);
  assert.deepEqual(await state(page), CLEAN);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test(`${PAYLOADS.length} payloads in arguments and results of tools`, { timeout: 240_000 }, async () => {
  const page = await openPage(browser, server.address);
  for (const at of PAYLOADS.keys()) {
    await send(page, `xsstool ${at}`);
    await page.locator("article.turn:last-child .prompt-text").getByText(`xsstool ${at}`, { exact: true }).waitFor();
    const turn = await ended(page);
    assert.ok(await turn.locator(".tool").isVisible());
  }
  assert.deepEqual(await state(page), CLEAN);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test(`${PAYLOADS.length} payloads in prompts and titles`, { timeout: 240_000 }, async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  const id = page.url().split("/").at(-1);
  for (const payload of PAYLOADS) {
    const title = payload.replace(/\s+/g, " ").slice(0, 100);
    await server.call("PATCH", `sessions/${id}`, { title });
  }
  await send(page, PAYLOADS.join("\n"));
  await until(async () => (await page.locator("article.turn").count()) === 2);
  await ended(page);
  assert.deepEqual(await state(page), CLEAN);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the policy of the page is enforced: what it forbids fails", async () => {
  const page = await openPage(browser, server.address);
  await page.locator("#composer-text").waitFor();
  const outcomes = await page.evaluate(async () => {
    const tried = {};
    try {
      document.createElement("div").innerHTML = "<b>x</b>";
      tried.html = "worked";
    } catch {
      tried.html = "refused";
    }
    const script = document.createElement("script");
    try {
      script.textContent = "globalThis.__hit = 1";
      document.head.append(script);
    } catch {
      tried.script = "refused";
    }
    // Later, in a task of the page's own: the debugger that runs this is allowed more.
    tried.eval = await new Promise((resolve) => {
      setTimeout(() => {
        try {
          resolve((0, eval)("1") ? "worked" : "");
        } catch {
          resolve("refused");
        }
      });
    });
    tried.hit = globalThis.__hit ?? null;
    return tried;
  });
  assert.equal(outcomes.html, "refused");
  assert.equal(outcomes.eval, "refused");
  assert.equal(outcomes.hit, null);
  await page.context().close();
});
