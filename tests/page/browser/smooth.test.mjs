// No task of the page takes longer than a tenth of a second, however long the answer is. Counted in
// processor time, so that a loaded machine changes nothing.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, ended, launch, openPage, send, until } from "../harness.mjs";
import { tasksWhile } from "../tasks.mjs";

const LONGEST_MS = 100;

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

const shownInFull = (page) =>
  until(() => page.evaluate(() => {
    const long = document.querySelector(".prose")?.textContent.length ?? 0;
    return long > 150_000 && !document.querySelector("article[aria-busy=true]");
  }), 90_000);

function assertSmooth(tasks, context, what) {
  const whole = tasks.reduce((sum, { cpu }) => sum + cpu, 0);
  const [longest] = tasks;
  context.diagnostic(`${what}: ${tasks.length} tasks, ${Math.round(whole)} ms of processor time, the longest ${Math.round(longest.cpu)} ms`);
  assert.ok(whole > LONGEST_MS, "the page's work was not seen");
  assert.ok(longest.cpu <= LONGEST_MS, `${what}: ${longest.cpu} ms: ${longest.inside()}`);
}

test("the page loads, and 200 kB arrive, without a long task", { timeout: 150_000 }, async (context) => {
  const page = await openPage(browser, server.address);
  const arriving = await tasksWhile(browser, page, async () => {
    await page.reload();
    await send(page, "long please");
    await ended(page, 90_000);
    await shownInFull(page);
  });
  assertSmooth(arriving, context, "arriving");
  await page.context().close();
});

test("a conversation of 200 kB is opened without a long task", { timeout: 150_000 }, async (context) => {
  const page = await openPage(browser, server.address);
  await send(page, "long please");
  await ended(page, 90_000);
  const text = () => page.evaluate(() => document.querySelector(".prose").textContent);
  const arrived = await text();
  const opening = await tasksWhile(browser, page, async () => {
    await page.reload();
    await shownInFull(page);
  });
  assertSmooth(opening, context, "opening");
  assert.equal(await text(), arrived);
  await page.context().close();
});
