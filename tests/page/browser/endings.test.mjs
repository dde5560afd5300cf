// How a connection ends, by its code, and what the page makes of it.

import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { Server, ended, launch, live, openPage, send, until } from "../harness.mjs";
import { Proxy } from "../proxy.mjs";

let server, proxy, browser;
before(async () => {
  server = await new Server({ deck: "resume_deadline_ms = 300" }).start();
  proxy = await new Proxy(server).start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  proxy?.end();
  await server?.end();
});

// A conversation with one turn. `page.tickets` counts the attempts to connect; in the page, `codes` are
// those that its sockets were closed with, and `spoil` makes of a frame what is sent (null: nothing).
async function talk(address = proxy.address) {
  const page = await openPage(browser, address);
  await page.addInitScript(() => {
    globalThis.sockets = [];
    globalThis.codes = [];
    globalThis.spoil = (frame) => frame;
    globalThis.WebSocket = class extends WebSocket {
      constructor(...options) {
        super(...options);
        globalThis.sockets.push(this);
        this.addEventListener("close", ({ code }) => globalThis.codes.push(code));
      }

      send(frame) {
        const sent = globalThis.spoil(frame);
        if (sent !== null) super.send(sent);
      }
    };
  });
  page.tickets = 0;
  page.on("request", (request) => request.url().endsWith("/ticket") && (page.tickets += 1));
  await page.reload();
  await send(page, "hello");
  await ended(page);
  assert.equal(page.tickets, 1);
  return page;
}

const closed = (page, code) => until(() => page.evaluate((code) => globalThis.codes.includes(code), code));

// It is back by itself, with what it had and nothing twice.
async function isBack(page) {
  await live(page);
  assert.equal(await page.locator("article.turn").count(), 1);
  await send(page, "hello again");
  await ended(page);
  assert.equal(await page.locator("article.turn").count(), 2);
  assert.ok(await page.locator(".banner").isHidden());
  assert.deepEqual(page.faults, []);
}

// Of the socket that is opened next.
const nextHeartbeat = (page) =>
  new Promise((resolve) =>
    page.once("websocket", (socket) => socket.on("framereceived", ({ payload }) => payload.includes('"heartbeat"') && resolve())),
  );

async function hasStopped(page, code) {
  await page.locator(".status[data-kind=stop]").waitFor();
  assert.equal(await page.locator(".status").innerText(), "Disconnected");
  assert.match(await page.locator(".banner").innerText(), new RegExp(`The server has refused what this page sent\\. \\(${code}\\)\\s+Try now`));
  // Even what calls every other page back leaves it as it is.
  const { tickets } = page;
  await page.evaluate(() => {
    globalThis.dispatchEvent(new Event("online"));
    document.dispatchEvent(new Event("visibilitychange"));
  });
  assert.equal(await page.locator(".status").getAttribute("data-kind"), "stop");
  assert.equal(page.tickets, tickets);
}

test("1009: a message over 1 MiB stops the page, which says so and sends it no second time", async () => {
  const page = await talk();
  const frames = [];
  page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => payload.includes("prompt.send") && frames.push(payload)));
  await page.evaluate(() => {
    globalThis.spoil = (frame) => (frame.includes("prompt.send") ? frame + " ".repeat(1_100_000) : frame);
  });
  await send(page, "hello larger");
  await closed(page, 1009);
  await hasStopped(page, 1009);
  const row = page.locator(".queue li", { hasText: "Not sent" });
  await page.evaluate(() => (globalThis.spoil = (frame) => frame));
  const heartbeat = nextHeartbeat(page);
  await page.getByRole("button", { name: "Try now" }).click();
  await live(page);
  await heartbeat; // the replay is over, and what follows it has been sent
  assert.deepEqual(frames, []);
  assert.equal(await page.locator("article.turn").count(), 1);
  assert.match(await row.innerText(), /hello larger/);
  await row.getByRole("button", { name: "Send" }).click(); // unless the reader says so
  await ended(page);
  assert.equal(await page.locator("article.turn").count(), 2);
  assert.equal(await page.locator(".queue li").count(), 0);
  await page.context().close();
});

test("1008: a page that talks nonsense is stopped, and comes back by its button alone", async () => {
  const page = await talk();
  await page.evaluate(() => {
    for (let each = 0; each < 25; each += 1) globalThis.sockets.at(-1).send("nonsense");
  });
  await closed(page, 1008);
  await hasStopped(page, 1008);
  await page.getByRole("button", { name: "Try now" }).click();
  await isBack(page);
  await page.context().close();
});

test("4401: a page that did not resume in time comes back, also after the second time", async () => {
  const page = await talk();
  await page.evaluate(() => {
    globalThis.spoil = (frame) => (frame.includes("session.resume") && globalThis.codes.filter((code) => code === 4401).length < 2 ? null : frame);
  });
  proxy.close(1013);
  await until(() => page.evaluate(() => globalThis.codes.filter((code) => code === 4401).length === 2));
  await isBack(page);
  assert.deepEqual(await page.evaluate(() => globalThis.codes), [1013, 4401, 4401]);
  await page.context().close();
});

for (const [code, reason] of [[1013, "too slow"], [1001, "idle"], [4409, "stopped"], [1001, "restart"], [1011, "failed"]]) {
  test(`${code} ${reason}: the page comes back by itself, with nothing lost and nothing twice`, async () => {
    const page = await talk();
    await page.locator("#composer-text").fill("half a thought");
    proxy.close(code, reason);
    await closed(page, code);
    await until(() => page.tickets === 2);
    await live(page);
    assert.equal(await page.locator("#composer-text").inputValue(), "half a thought");
    await isBack(page);
    await page.context().close();
  });
}

test("4404: what the server has deleted is not asked for again", async () => {
  const page = await talk();
  proxy.close(4404, "deleted");
  await page.locator(".status[data-kind=deleted]").waitFor();
  await page.getByText("This conversation was deleted").waitFor();
  assert.ok(!(await page.locator("#composer-text").isEditable()));
  assert.equal(page.tickets, 1);
  await page.context().close();
});

// The log is lost with the server, the conversation is not: the page is told to begin anew.
test("a reset in mid-visit rebuilds, says so, and returns to the first visible turn", { timeout: 120_000 }, async () => {
  const own = await new Server().start();
  const page = await openPage(browser, own.address);
  for (const text of ["code 1", "code 2", "code 3", "code 4"]) {
    await send(page, text);
    await ended(page);
  }
  const second = page.locator("article.turn").nth(1);
  const top = (turn) => turn.evaluate((element) => Math.round(element.getBoundingClientRect().top - document.querySelector(".scroller").getBoundingClientRect().top));
  await page.mouse.move(640, 400);
  for (let last = NaN; (await top(second)) < 0 || last !== (await top(second)); ) {
    last = await top(second);
    await page.mouse.wheel(0, last < 0 ? last - 60 : 0);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  }
  const before = { id: await second.getAttribute("id"), top: await top(second) };
  await second.evaluate((element) => (element.isOld = true));
  await own.kill();
  await page.locator(".status[data-kind=reconnecting]").waitFor();
  const store = path.join(own.folder, "store");
  const logs = readdirSync(store, { recursive: true }).filter((name) => name.endsWith(".events"));
  assert.equal(logs.length, 1);
  rmSync(path.join(store, logs[0]));
  await own.start();
  await page.getByText("The history was rebuilt").first().waitFor({ timeout: 40_000 });
  await live(page);
  await until(() => page.evaluate(() => !document.querySelector("article[aria-busy=true]")));
  assert.equal(await page.locator("article.turn").count(), 4);
  const again = page.locator(`#${before.id}`);
  assert.equal(await again.evaluate((element) => element.isOld ?? false), false, "it was not rebuilt");
  assert.ok(Math.abs((await top(again)) - before.top) <= 2, `${await top(again)}, not ${before.top}`);
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await own.end();
});
