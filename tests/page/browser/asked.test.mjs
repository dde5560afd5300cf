// When a person is asked, and what they see before they decide.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, ended, launch, live, openPage, send, until } from "../harness.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

// What the alert region and the tab's title have said.
const listen = (page) =>
  page.evaluate(() => {
    globalThis.said = [];
    const alert = document.querySelector(".shell > [role=alert]");
    new MutationObserver(() => globalThis.said.push(alert.textContent)).observe(alert, { childList: true });
    new MutationObserver(() => globalThis.said.push(document.title)).observe(document.querySelector("title"), { childList: true });
  });
const said = (page) => page.evaluate(() => globalThis.said.join("; "));

async function asks(page) {
  await send(page, "write it");
  await page.locator("article .request-buttons button").first().waitFor();
}

const stop = (page) => page.getByRole("button", { name: "Stop", exact: true }).click();

test("a tool that the policy allows asks nobody: no alert, no title, no buttons", async () => {
  const page = await openPage(browser, server.address);
  await page.locator("#composer-text").waitFor();
  await listen(page);
  await page.evaluate(() => {
    globalThis.offered = 0;
    new MutationObserver(() => {
      if (document.querySelector(".dock-bar:not([hidden]), .request-buttons:not([hidden])")) globalThis.offered += 1;
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  await send(page, "read the notes");
  const turn = await ended(page);
  assert.match(await turn.locator(".request").innerText(), /Allowed once\. By the policy/);
  assert.doesNotMatch(await said(page), /Needs you/);
  assert.equal(await page.evaluate(() => globalThis.offered), 0);
  await page.context().close();
});

test("who decides sees all arguments, the model that asks, and where it runs", async () => {
  const page = await openPage(browser, server.address);
  await page.locator(".composer select").selectOption("cloud");
  await asks(page);
  const card = page.locator(".tool");
  assert.match(await card.locator(".request").innerText(), /cloud\s+Asked for by claude-sonnet-5-5 on api\.example\.com:443/);
  const whole = await card.locator("pre").first().evaluate((element) => element.scrollHeight <= element.clientHeight + 1 && element.textContent);
  assert.match(whole, /End\.$/);
  await stop(page);
  // It does not fold by itself afterwards.
  await card.locator(".request.settled").waitFor();
  assert.ok(await card.locator("pre").first().evaluate((element) => element.scrollHeight <= element.clientHeight + 1));
  await page.context().close();
});

test("the tab's icon changes while a person is needed", async () => {
  const page = await openPage(browser, server.address);
  const file = () => page.evaluate(() => document.querySelector("link[rel=icon]").href.split("/").at(-1));
  assert.equal(await file(), "icon.svg");
  await asks(page);
  assert.equal(await file(), "icon-waiting.svg");
  assert.equal((await fetch(`${server.address}icon-waiting.svg`)).status, 200);
  await stop(page);
  await until(async () => (await file()) === "icon.svg");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a request that waited already is spoken when its conversation is opened", async () => {
  const page = await openPage(browser, server.address);
  await asks(page);
  const other = await openPage(browser, server.address);
  await other.locator("#composer-text").waitFor();
  await listen(other);
  await other.evaluate((hash) => (location.hash = hash), new URL(page.url()).hash);
  await until(async () => /Needs you: files\.write wants to run \(high risk\)/.test(await said(other)));
  await stop(page);
  await other.context().close();
  await page.context().close();
});

test("a running tool tells its seconds", { timeout: 30_000 }, async () => {
  const page = await openPage(browser, server.address);
  await send(page, "sleep long");
  await page.locator(".tool-state").getByText(/running \u00b7 [12] s/).waitFor();
  await page.locator(".tool").getByRole("button", { name: "Cancel" }).click();
  await ended(page);
  await page.context().close();
});

test("after a restart with other models the composer names the new ones", { timeout: 60_000 }, async () => {
  const own = await new Server().start();
  const page = await openPage(browser, own.address);
  await send(page, "hello");
  await ended(page);
  await page.locator(".composer select").selectOption("cloud");
  await page.locator(".composer").getByText("Will go to api.example.com:443").waitFor();
  await page.route("**/deck/info", async (route) => {
    const response = await route.fetch();
    const info = await response.json();
    info.slots.cloud.host = "other.example.net:443";
    await route.fulfill({ json: info });
  });
  await own.kill();
  await page.locator(".status[data-kind=reconnecting]").waitFor();
  await own.start();
  await page.locator(".status[data-kind=live]").waitFor({ timeout: 30_000 });
  await page.locator(".composer").getByText("Will go to other.example.net:443").waitFor();
  await live(page);
  await page.context().close();
  await own.end();
});

test("by keys alone: always, ask again, delete; the focus is never lost on the way", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await page.locator("#composer-text").waitFor();
  const at = () => page.evaluate(() => (document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent).trim());
  const tabTo = async (name) => {
    for (let each = 0; each < 60 && !(await at()).startsWith(name); each += 1) await page.keyboard.press("Tab");
    assert.ok((await at()).startsWith(name), name);
  };
  // A press that comes before the card has stood still is not taken: as people do, it is made again.
  const press = async (isDone) => until(async () => (await page.keyboard.press("Enter"), isDone()), 10_000);
  await page.keyboard.type("write it");
  await page.keyboard.press("Enter");
  await page.locator("article .request-buttons button").first().waitFor();
  await page.keyboard.press("F8");
  await tabTo("Always\u2026");
  await press(async () => (await at()) === "Back");
  await tabTo("Always allow");
  await press(() => page.locator(".request.settled").isVisible());
  await ended(page);
  assert.ok(await page.evaluate(() => document.activeElement.classList.contains("request")));
  await page.keyboard.press("Control+/");
  await tabTo("Ask again for files__write");
  await page.keyboard.press("Enter");
  await page.getByText("None in this conversation.").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.name), "policy");
  await page.keyboard.press("Escape");
  await page.keyboard.press("F6");
  await tabTo("Conversation");
  await page.keyboard.press("Enter");
  await tabTo("Delete\u2026");
  await page.keyboard.press("Enter");
  assert.equal(await at(), "Back");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText("What is on your mind?").waitFor();
  await until(() => page.evaluate(() => document.activeElement.id === "composer-text"));
  await page.context().close();
});
