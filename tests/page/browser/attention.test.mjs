// A person is needed: the title, the badge and, if they want it, a notification.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, ended, launch, openPage, send, until } from "../harness.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

// What the page shows outside of itself is noted on its way to the browser.
async function watched() {
  const page = await openPage(browser, server.address, { permissions: ["notifications"] });
  await page.addInitScript(() => {
    globalThis.badges = [];
    globalThis.notes = [];
    globalThis.isHidden = false;
    for (const name of ["setAppBadge", "clearAppBadge"]) {
      const original = navigator[name].bind(navigator);
      navigator[name] = (...count) => (globalThis.badges.push(count[0] ?? null), original(...count));
    }
    globalThis.Notification = class extends Notification {
      constructor(title, options) {
        super(title, options);
        globalThis.notes.push({ title, ...options });
      }
    };
    Object.defineProperty(document, "hidden", { get: () => globalThis.isHidden });
  });
  await page.reload();
  await page.locator("#composer-text").waitFor();
  return page;
}

const asked = (page) => page.locator("article .request-buttons:visible").last().getByRole("button", { name: "Allow once" }).waitFor();

async function hide(page, isHidden) {
  await page.evaluate((isHidden) => {
    globalThis.isHidden = isHidden;
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

async function stop(page) {
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await ended(page);
}

async function setNotify(page, isWanted) {
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Notify me when a person is needed and this tab is hidden").setChecked(isWanted);
  await page.keyboard.press("Escape");
}

test("two requests are in the title and the badge, and leave both with their answer", async () => {
  const page = await watched();
  await send(page, "hello");
  await ended(page);
  await page.locator(".bar").getByRole("button", { name: "Ask for risky" }).click();
  await page.getByRole("radio", { name: /Ask for all/ }).click();
  await page.keyboard.press("Escape");
  await send(page, "reads of two");
  await until(async () => (await page.title()) === "(2) Needs you \u2013 hello \u2013 Mead");
  assert.equal(await page.evaluate(() => globalThis.badges.at(-1)), 2);
  assert.match(await page.locator(".dock-bar").innerText(), /1 of 2/);
  await stop(page);
  assert.equal(await page.title(), "hello \u2013 Mead");
  assert.equal(await page.evaluate(() => globalThis.badges.at(-1)), null);
  await page.context().close();
});

test("notifications come only to those who asked for them, when they look elsewhere", { timeout: 90_000 }, async () => {
  const page = await watched();
  const notes = () => page.evaluate(() => globalThis.notes);
  await hide(page, true);
  await send(page, "write it"); // the browser would allow one, the reader has not asked for it
  await asked(page);
  assert.deepEqual(await notes(), []);
  await hide(page, false);
  await stop(page);
  await setNotify(page, true);
  await send(page, "write it");
  await asked(page);
  assert.deepEqual(await notes(), [], "the reader sees the card");
  await stop(page);
  await hide(page, true);
  await send(page, "write it");
  await asked(page);
  const [note, ...more] = await notes();
  assert.deepEqual(more, []);
  const id = await page.locator("article .request:not(.settled)").getAttribute("data-id");
  assert.deepEqual(note, { title: "Needs you", body: "files.write wants to run (high risk)", tag: id });
  await stop(page);
  await setNotify(page, false);
  await send(page, "write it");
  await asked(page);
  assert.equal((await notes()).length, 1);
  await stop(page);
  await page.context().close();
});

test("a request that waited before the page came is announced, one that was answered is not", { timeout: 90_000 }, async () => {
  const page = await watched();
  await setNotify(page, true);
  await send(page, "write it");
  await asked(page);
  await stop(page); // answered: it stays in the log that is replayed
  await send(page, "write it");
  await asked(page);
  await page.addInitScript(() => (globalThis.isHidden = true));
  await page.reload();
  await asked(page);
  const waiting = await page.locator("article .request:not(.settled)").getAttribute("data-id");
  assert.deepEqual(await page.evaluate(() => globalThis.notes.map(({ tag }) => tag)), [waiting]);
  assert.match(await page.title(), /^\(1\) Needs you/);
  await page.context().close();
});
