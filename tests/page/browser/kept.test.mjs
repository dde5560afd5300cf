// Nothing typed is lost, and nothing of one conversation lands in another.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, TOKEN, ended, launch, live, openPage, send, until } from "../harness.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

const rows = (page) => page.locator(".queue li");

// A second tab of the same browser, signed in.
async function secondTab(page) {
  const other = await page.context().newPage();
  await other.addInitScript(([key, value]) => sessionStorage.setItem(key, value), ["mead /deck/ token", JSON.stringify(TOKEN)]);
  await other.goto(page.url());
  return other;
}

test("a first prompt that never got out is sent after a reload, once the reader says so", async () => {
  const page = await openPage(browser, server.address);
  await page.locator("#composer-text").waitFor();
  await page.route("**/deck/ticket", (route) => route.abort());
  await send(page, "hello first");
  await rows(page).getByText("Sending").waitFor();
  await page.reload();
  await page.unroute("**/deck/ticket");
  await rows(page).filter({ hasText: "Not sent" }).getByRole("button", { name: "Send" }).click();
  await ended(page);
  assert.equal(await page.locator(".prompt-text").innerText(), "hello first");
  assert.equal(await rows(page).count(), 0);
  await page.context().close();
});

test("a first prompt that waits for the server goes out when the reader comes back to it", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello there");
  await ended(page);
  const hash = new URL(page.url()).hash;
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.route("**/deck/ticket", (route) => route.abort());
  await send(page, "hello waiting");
  await rows(page).getByText("Sending").waitFor();
  await page.evaluate((to) => (location.hash = to), hash);
  await page.unroute("**/deck/ticket");
  await page.locator(".prompt-text").getByText("hello there").waitFor();
  await page.evaluate(() => (location.hash = "#/"));
  await page.locator(".prompt-text").getByText("hello waiting").waitFor();
  await ended(page);
  await page.context().close();
});

test("older turns that arrive late stay out of the conversation that was opened meanwhile", { timeout: 90_000 }, async () => {
  const own = await new Server({ eventLogLimit: 30 }).start();
  const page = await openPage(browser, own.address);
  await send(page, "hello other");
  await ended(page);
  const hash = new URL(page.url()).hash;
  await page.getByRole("button", { name: "New conversation" }).click();
  for (let each = 1; each <= 8; each += 1) {
    await send(page, `hello ${each}`);
    await page.locator("article.turn:last-child .prompt-text").getByText(`hello ${each}`, { exact: true }).waitFor();
    await ended(page);
  }
  let release;
  let isAsked = false;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/sessions/*/history*", async (route) => {
    isAsked = true;
    await held;
    await route.continue();
  });
  await page.reload();
  await until(() => isAsked);
  const answered = page.waitForResponse("**/sessions/*/history*");
  await page.evaluate((to) => (location.hash = to), hash);
  await page.locator(".prompt-text").getByText("hello other").waitFor();
  release();
  await (await answered).finished();
  // Something that is painted after it.
  await send(page, "hello again");
  await page.locator(".prompt-text").getByText("hello again").waitFor();
  assert.deepEqual(await page.locator(".prompt-text").allInnerTexts(), ["hello other", "hello again"]);
  await page.context().close();
  await own.end();
});

test("after a close for abuse a prompt is asked about, not sent again by itself", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await page.addInitScript(() => {
    globalThis.heard = [];
    const { send: sendIt } = WebSocket.prototype;
    WebSocket.prototype.send = function (frame) {
      globalThis.socket = this;
      globalThis.heard.push(frame);
      if (!globalThis.isDeaf || !frame.includes("prompt.send")) sendIt.call(this, frame);
    };
  });
  await page.reload();
  await send(page, "hello");
  await ended(page);
  await page.evaluate(() => (globalThis.isDeaf = true)); // the prompt does not arrive
  await send(page, "hello refused");
  await rows(page).getByText("Sending").waitFor();
  await page.evaluate(() => {
    for (let each = 0; each < 25; each += 1) globalThis.socket.send("nonsense");
  });
  await page.getByText("The server has refused what this page sent. (1008)").waitFor();
  await page.evaluate(() => ((globalThis.isDeaf = false), (globalThis.heard = [])));
  await page.locator(".banner").getByRole("button", { name: "Try now" }).click();
  await live(page);
  const row = rows(page).filter({ hasText: "Not sent" });
  await row.waitFor();
  assert.ok(!(await page.evaluate(() => globalThis.heard.some((frame) => frame.includes("prompt.send")))));
  await row.getByRole("button", { name: "Send" }).click();
  await until(async () => (await page.locator("article.turn").count()) === 2);
  await ended(page);
  await page.context().close();
});

test("a tab that nobody looks at takes over a draft, though its field has the focus", async () => {
  const page = await openPage(browser, server.address);
  await page.locator("#composer-text").waitFor();
  const other = await secondTab(page);
  await other.locator("#composer-text").focus();
  // Playwright gives every page the focus; a browser gives it to one.
  await other.evaluate(() => (document.hasFocus = () => false));
  await page.locator("#composer-text").fill("of the first tab");
  await until(async () => (await other.locator("#composer-text").inputValue()) === "of the first tab");
  await other.evaluate(() => delete document.hasFocus);
  await page.locator("#composer-text").fill("while the other is written in");
  await page.waitForFunction(() => JSON.stringify(localStorage).includes("while the other"));
  await other.evaluate(() => new Promise((resolve) => setTimeout(resolve))); // its messages are in
  assert.equal(await other.locator("#composer-text").inputValue(), "of the first tab");
  await page.context().close();
});

test("what cannot be done while the server is away says so, and loses no prompt", { timeout: 60_000 }, async () => {
  const own = await new Server().start();
  const page = await openPage(browser, own.address);
  await send(page, "slow 4000");
  await page.locator(".prose p").first().waitFor();
  await send(page, "hello queued");
  await rows(page).filter({ hasText: "Queued" }).waitFor();
  await own.kill();
  await page.locator(".status[data-kind=reconnecting]").waitFor();
  await rows(page).getByRole("button", { name: "Edit" }).click();
  await rows(page).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  assert.equal(await page.locator(".note", { hasText: "once the connection is back" }).count(), 1);
  assert.equal(await rows(page).count(), 1);
  assert.equal(await page.locator("#composer-text").inputValue(), "");
  await page.context().close();
  await own.end();
});
