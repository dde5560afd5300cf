// Tools, permissions and questions: a person decides.

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

const STILL_MS = 700; // a card hears nothing before it stood still for 600 ms
const buttons = (page) => page.locator("article .request-buttons");

// As people do: what was not taken is pressed again.
async function press(page, name) {
  const button = buttons(page).last().getByRole("button", { name });
  await button.waitFor();
  await until(async () => {
    await page.waitForTimeout(STILL_MS);
    if (await button.isVisible()) await button.click({ timeout: 500 }).catch(() => {});
    await page.waitForTimeout(100);
    return !(await button.isVisible());
  }, 10_000);
}

async function asks(page, text = "write it") {
  await send(page, text);
  await buttons(page).last().getByRole("button", { name: "Allow once" }).waitFor();
}

test("a tool that reads runs at once and is shown with arguments and result", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "read the notes");
  const turn = await ended(page);
  const card = turn.locator(".tool");
  assert.match(await card.innerText(), /files\.list[\s\S]*reads[\s\S]*done[\s\S]*path: notes[\s\S]*notes\/a\.md/);
  assert.match(await card.innerText(), /Allowed once\. By the policy/);
  assert.match(await turn.locator("summary").innerText(), /tools ran/);
  assert.equal(await turn.locator("summary .icon-lock").count(), 0);
  await page.context().close();
});

test("a high risk is asked about; Allow once runs it and says who decided", async () => {
  const page = await openPage(browser, server.address);
  await asks(page);
  assert.match(await page.locator(".dock-bar").innerText(), /Needs you: files\.write \(high risk\)[\s\S]*(1:5\d|2:00)/);
  assert.match(await page.title(), /^\(1\) Needs you/);
  assert.match(await page.locator(".list li.open").innerText(), /1 waiting/);
  await press(page, "Allow once");
  const turn = await ended(page);
  assert.match(await turn.locator(".request").innerText(), /Allowed once\. Decided in this browser\./);
  assert.match(await turn.innerText(), /characters written[\s\S]*Done\./);
  assert.doesNotMatch(await page.title(), /Needs you/);
  assert.ok(await page.locator(".dock-bar").isHidden());
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("keys that were meant for the prompt answer nothing, nor does a click that came too early", async () => {
  const page = await openPage(browser, server.address);
  await page.evaluate(() => {
    globalThis.clicked = 0;
    new MutationObserver(() => {
      const button = document.querySelector("article .request-buttons button:nth-child(2)");
      if (!button || globalThis.clicked++) return;
      const press = () => button.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
      press(); // in the very moment it appears
      requestAnimationFrame(press); // and before anyone can have read it
    }).observe(document.body, { subtree: true, childList: true });
  });
  await page.locator("#composer-text").fill("write it");
  await page.keyboard.down("Enter");
  await buttons(page).getByRole("button", { name: "Allow once" }).waitFor();
  for (const key of ["Enter", " ", "a", "r", "Enter"]) await page.keyboard.press(key);
  await page.locator("article .request").last().getByText("Not taken").waitFor();
  assert.ok(await buttons(page).getByRole("button", { name: "Allow once" }).isVisible());
  assert.equal(await page.evaluate(() => document.activeElement.id), "composer-text");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.locator(".failure", { hasText: "Stopped" }).waitFor();
  await page.context().close();
});

test("F8 goes to the request and back; there R rejects", async () => {
  const page = await openPage(browser, server.address);
  await asks(page);
  await page.keyboard.press("F8");
  assert.ok(await page.evaluate(() => document.activeElement.classList.contains("request")));
  await page.keyboard.press("F8");
  assert.equal(await page.evaluate(() => document.activeElement.id), "composer-text");
  await page.keyboard.press("F8");
  await until(async () => {
    await page.keyboard.press("r"); // not heard before the card stood still
    return (await page.locator(".request.settled").count()) === 1;
  });
  const turn = await ended(page);
  assert.match(await turn.locator(".request").innerText(), /Rejected\. Decided in this browser/);
  assert.match(await turn.locator(".tool").innerText(), /not allowed/);
  await page.context().close();
});

test("Always asks again, is remembered, shown in the settings, and can be taken back", async () => {
  const page = await openPage(browser, server.address);
  await asks(page);
  await press(page, "Always\u2026");
  await page.getByText("Always allow files.write in this conversation").waitFor();
  await press(page, "Always allow");
  await ended(page);
  await send(page, "write again");
  await until(async () => (await page.locator("article.turn").count()) === 2);
  const turn = await ended(page);
  assert.match(await turn.locator(".request").innerText(), /By a remembered answer/);
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Ask again for files__write" }).click();
  await page.getByText("None in this conversation.").waitFor();
  await page.context().close();
});

test("the policy is chosen in one place and holds", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  await page.locator(".bar").getByRole("button", { name: "Ask for risky" }).click();
  await page.getByRole("radio", { name: /Read only/ }).click();
  await page.keyboard.press("Escape");
  await page.locator(".bar").getByRole("button", { name: "Read only" }).waitFor();
  await send(page, "write it");
  await until(async () => (await page.locator("article.turn").count()) === 2);
  const turn = await ended(page);
  assert.match(await turn.locator(".request").innerText(), /Rejected\. By the policy \u201cRead only\u201d/);
  await page.context().close();
});

test("a question is answered by a button, and more time can be had", async () => {
  const page = await openPage(browser, server.address);
  const extended = [];
  page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => payload.includes("request.extended") && extended.push(payload)));
  await send(page, "ask me");
  const option = buttons(page).getByRole("button", { name: "All of them" });
  await option.waitFor();
  await until(async () => {
    await page.getByRole("button", { name: "More time" }).last().click(); // not heard before it stood still
    return extended.length > 0;
  });
  await press(page, "All of them");
  const turn = await ended(page);
  assert.match(await turn.innerText(), /Which notes do you mean\?[\s\S]*Chosen: All of them\. Decided in this browser/);
  await page.context().close();
});

test("a running tool can be cancelled", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "sleep long");
  const card = page.locator(".tool");
  await card.getByText("running").waitFor();
  await card.getByRole("button", { name: "Cancel" }).click();
  const turn = await ended(page);
  assert.match(await turn.locator(".tool").innerText(), /cancelled/);
  assert.match(await turn.innerText(), /Awake/);
  await page.context().close();
});

test("two pages are in step, and either answers", async () => {
  const page = await openPage(browser, server.address);
  await asks(page);
  const other = await openPage(browser, page.url().split("#")[0], { hash: `#${page.url().split("#")[1]}` });
  await press(other, "Allow once");
  await ended(other);
  const turn = await ended(page);
  assert.match(await turn.locator(".request").innerText(), /Decided on another device/);
  assert.equal(await turn.locator(".prose").last().innerText(), await other.locator(".prose").last().innerText());
  await send(other, "hello from the other");
  await page.getByText("hello from the other", { exact: true }).last().waitFor();
  await live(page);
  await page.context().close();
  await other.context().close();
});

test("a request is never answered while the connection is away", async () => {
  const own = await new Server().start();
  const page = await openPage(browser, own.address);
  await asks(page);
  await page.waitForTimeout(STILL_MS);
  await own.kill();
  await page.locator(".status[data-kind=reconnecting]").waitFor();
  await page.getByText("You can answer once the connection is back.").waitFor();
  await buttons(page).getByRole("button", { name: "Allow once" }).click({ force: true });
  await own.start();
  await live(page);
  await page.getByText("The server stopped while answering").waitFor();
  assert.doesNotMatch(await page.locator(".request").innerText(), /Decided in this browser/);
  await page.context().close();
  await own.end();
});
