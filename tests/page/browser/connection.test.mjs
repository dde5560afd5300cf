// Nothing is lost and nothing comes twice: reloads, a killed server, a second page, drafts.

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

const PARAGRAPH =
  "The log is the truth: every event is written before anyone is sent it. A client that comes back says what it has" +
  " seen, and gets the rest. Nothing is lost, and nothing comes twice.";
const answer = (page) => page.locator("article.turn").last().locator(".prose").innerText();

test("a server killed in the middle of an answer comes back with what had arrived", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await send(page, "endless");
  await page.waitForFunction(() => (document.querySelector(".prose")?.textContent.length ?? 0) > 150);
  await server.kill();
  await page.locator(".status[data-kind=reconnecting]").waitFor();
  const before = await answer(page);
  await page.locator("#composer-text").fill("typed meanwhile");
  await server.start();
  await live(page);
  await page.getByText("The server stopped while answering").first().waitFor();
  const after = await answer(page);
  // More may have been written than had been painted; nothing comes twice, nothing is left out.
  assert.ok(after.length >= before.length);
  assert.ok(`${PARAGRAPH}\n\n`.repeat(150).startsWith(after.trimEnd()), after);
  assert.equal(await page.locator("article.turn").count(), 1);
  assert.equal(await page.locator("#composer-text").inputValue(), "typed meanwhile");
  await page.keyboard.press("Control+a");
  await send(page, "hello");
  await ended(page);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a prompt that is sent while the server is away is sent once it is back, once", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  await server.kill();
  await page.locator(".status[data-kind=reconnecting]").waitFor();
  await send(page, "hello later");
  await page.locator(".queue li", { hasText: "Sending" }).waitFor();
  await server.start();
  await until(async () => (await page.locator("article.turn").count()) === 2, 30_000);
  await ended(page);
  await page.reload();
  await ended(page);
  assert.equal(await page.locator("article.turn").count(), 2);
  assert.equal(await page.locator(".queue li").count(), 0);
  await page.context().close();
});

test("a prompt whose page was reloaded before it arrived is asked about", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  await page.evaluate(() => {
    WebSocket.prototype.send = () => {}; // what is sent from now on is lost
  });
  await send(page, "hello lost one");
  await page.locator(".queue li", { hasText: "Sending" }).waitFor();
  await page.reload();
  const row = page.locator(".queue li", { hasText: "Not sent" });
  await row.waitFor();
  await row.getByRole("button", { name: "Send" }).click();
  await until(async () => (await page.locator("article.turn").count()) === 2);
  await ended(page);
  assert.equal(await page.locator(".queue li").count(), 0);
  await page.context().close();
});

test("a reload in the middle of an answer shows the same text as a page that stayed", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await send(page, "slow 1200");
  await page.locator(".prose p").first().waitFor();
  const stayed = await openPage(browser, server.address, { hash: `#${page.url().split("#")[1]}` });
  await stayed.locator(".prose p").first().waitFor();
  await page.reload();
  await ended(page, 30_000);
  await ended(stayed, 30_000);
  assert.equal(await answer(page), await answer(stayed));
  assert.equal((await answer(page)).match(/The log is the truth/g).length, 7);
  assert.deepEqual([...page.faults, ...stayed.faults], []);
  await page.context().close();
  await stayed.context().close();
});

test("a connection that dies in silence is noticed and replaced", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await page.addInitScript(() => {
    globalThis.sockets = [];
    globalThis.WebSocket = class extends WebSocket {
      constructor(...options) {
        super(...options);
        globalThis.sockets.push(this);
      }
    };
  });
  await page.reload();
  await send(page, "hello");
  await ended(page);
  assert.equal(await page.evaluate(() => globalThis.sockets.length), 1);
  // Nothing arrives any more, though nothing says that the connection is gone.
  await page.evaluate(() => globalThis.sockets[0].addEventListener("message", (event) => event.stopImmediatePropagation(), true));
  await page.evaluate(() => (globalThis.sockets[0].onmessage = null));
  await until(() => page.evaluate(() => globalThis.sockets.length === 2), 20_000);
  await live(page);
  assert.equal(await page.locator("article.turn").count(), 1);
  await page.context().close();
});

test("drafts survive a reload, each with its conversation and route", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  await page.locator("#composer-text").fill("of this conversation");
  await page.locator(".composer select").selectOption("cloud");
  await page.getByRole("button", { name: "New conversation" }).click();
  assert.equal(await page.locator("#composer-text").inputValue(), "");
  await page.locator("#composer-text").fill("of a new one");
  await page.reload();
  await until(async () => (await page.locator("#composer-text").inputValue()) === "of a new one");
  await page.locator(".list a").first().click();
  await until(async () => (await page.locator("#composer-text").inputValue()) === "of this conversation");
  assert.equal(await page.locator(".composer select").inputValue(), "cloud");
  await page.context().close();
});

test("a prompt that is too long is not cut: it is counted, and the excess can be selected", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  await page.locator("#composer-text").fill("x".repeat(60_010));
  await page.getByText("60,010 of 60,000 characters").waitFor();
  assert.equal(await page.locator(".send").getAttribute("aria-disabled"), "true");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("article.turn").count(), 1);
  await page.getByRole("button", { name: "Select the excess" }).click();
  assert.equal(await page.evaluate(() => {
    const field = document.getElementById("composer-text");
    return field.selectionEnd - field.selectionStart;
  }), 10);
  await page.keyboard.press("Delete");
  await until(async () => (await page.locator(".send").getAttribute("aria-disabled")) === "false");
  await page.context().close();
});

test("nothing is sent while an input method composes", async () => {
  const page = await openPage(browser, server.address);
  await page.locator("#composer-text").fill("\u65e5\u672c");
  await page.evaluate(() => {
    const field = document.getElementById("composer-text");
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true }));
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true }));
  });
  assert.equal(await page.locator("#composer-text").inputValue(), "\u65e5\u672c");
  await page.keyboard.press("Shift+Enter");
  assert.match(await page.locator("#composer-text").inputValue(), /\n/);
  await page.context().close();
});

test("older turns come from the history as the reader scrolls up, and move nothing", { timeout: 90_000 }, async () => {
  const own = await new Server({ eventLogLimit: 30 }).start();
  const page = await openPage(browser, own.address);
  for (let each = 1; each <= 9; each += 1) {
    await send(page, `hello ${each}`);
    await page.locator("article.turn:last-child .prompt-text").getByText(`hello ${each}`, { exact: true }).waitFor();
    await ended(page);
  }
  const asked = [];
  page.on("request", (request) => request.url().includes("/history") && asked.push(request.url()));
  await page.reload(); // the log is short by now
  await ended(page);
  await until(async () => (await page.locator("article.turn").count()) === 9, 10_000);
  const prompts = await page.locator(".prompt-text").allInnerTexts();
  assert.deepEqual(prompts, [1, 2, 3, 4, 5, 6, 7, 8, 9].map((each) => `hello ${each}`));
  assert.match(await page.locator("article.turn").first().locator("summary").innerText(), /41 in, 212 out/);
  assert.ok(asked.length > 0, "the log held everything");
  assert.ok(await page.locator(".older").isHidden());
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await own.end();
});

test("a server without storage says that it keeps a conversation in memory only", { timeout: 60_000 }, async () => {
  const own = await new Server({ storage: false }).start();
  const page = await openPage(browser, own.address);
  await send(page, "hello");
  await ended(page);
  await page.getByText("kept in memory only").waitFor();
  await page.context().close();
  await own.end();
});

test("a tab that only opens a conversation leaves the draft of another alone", async () => {
  const page = await openPage(browser, server.address);
  await page.locator("#composer-text").fill("half a thought");
  await until(() => page.evaluate(() => JSON.stringify(localStorage).includes("half a thought")));
  await page.getByRole("button", { name: "Settings" }).focus();
  await page.evaluate(() => {
    globalThis.heard = [];
    const tabs = new BroadcastChannel("mead /deck/");
    tabs.onmessage = ({ data }) => data.kind === "draft" && globalThis.heard.push(data.text);
  });
  const other = await page.context().newPage();
  await other.addInitScript(([key, value]) => sessionStorage.setItem(key, value), ["mead /deck/ token", JSON.stringify(TOKEN)]);
  await other.goto(server.address);
  await until(async () => (await other.locator("#composer-text").inputValue()) === "half a thought");
  // What is typed in one is seen in the other, unless that one is being written in.
  await other.locator("#composer-text").fill("a whole thought");
  await until(async () => (await page.locator("#composer-text").inputValue()) === "a whole thought");
  assert.deepEqual(await page.evaluate(() => globalThis.heard), ["a whole thought"], "one that only reads tells nothing");
  await page.context().close();
});
