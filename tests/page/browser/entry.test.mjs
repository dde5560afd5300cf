// Links with a code, and tokens that end, while the page is open.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, TOKEN, ended, launch, openPage, send } from "../harness.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

const follow = (page, code) => page.evaluate((found) => (location.hash = `code=${found}`), code);

test("a link that is opened in the tab of the sign-in page lets in", async () => {
  const page = await openPage(browser, server.address, { token: null });
  await page.locator("#token").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "token");
  const code = server.loginCode();
  await follow(page, code);
  await page.locator("#composer-text").waitFor();
  assert.ok(!page.url().includes(code));
  await page.goBack();
  assert.ok(!page.url().includes(code));
  await page.context().close();
});

test("a link that is opened in a tab that is in leaves the conversation open, and no code in the address", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  const url = page.url();
  await follow(page, "a-code-that-nobody-needs");
  await page.waitForURL(url);
  assert.equal(await page.locator("article.turn").count(), 1);
  assert.ok(await page.locator("#composer-text").isVisible());
  await page.context().close();
});

test("a token that is no longer taken says so, and keeps the draft and another tab's token", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  const other = await page.context().newPage();
  await other.addInitScript(([key, value]) => sessionStorage.setItem(key, value), ["mead /deck/ token", JSON.stringify(TOKEN)]);
  await other.goto(server.address);
  await other.locator("#composer-text").waitFor();
  await page.locator("#composer-text").fill("half a thought");
  await page.evaluate(() => sessionStorage.setItem("mead /deck/ token", JSON.stringify("ended-ended-ended-ended-ended-ended-00")));
  await page.evaluate(() => dispatchEvent(new Event("focus"))); // the list is asked for
  await page.getByText("You are signed out: the server does not take the token any more.").waitFor();
  assert.ok(await other.locator("#composer-text").isVisible());
  await page.locator("#token").fill(TOKEN);
  await page.keyboard.press("Enter");
  await page.locator("#composer-text").waitFor();
  assert.equal(await page.locator("#composer-text").inputValue(), "half a thought");
  await page.context().close();
});
