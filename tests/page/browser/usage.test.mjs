// What the panel of the usage says: local and cloud apart, and never 0 for what nobody counted.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, axe, ended, launch, openPage, send, until } from "../harness.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

async function ask(page, route, text) {
  const turns = await page.locator("article.turn").count();
  await page.locator(".composer select").selectOption(route);
  await send(page, text);
  await until(async () => (await page.locator("article.turn").count()) > turns);
  await ended(page);
}

const latest = (page) => page.locator(".usage table").last().locator("tbody tr");

test("the bars of a day tell local from cloud, and so does their table, while the panel is open", async () => {
  const page = await openPage(browser, server.address);
  await ask(page, "local", "hello");
  await ask(page, "cloud", "uncounted");
  await page.getByRole("button", { name: "Usage" }).click();
  await page.locator(".chart-bar.local").waitFor();
  await page.locator(".chart-bar.cloud").waitFor();
  assert.equal(await page.locator(".chart-bar.untold").count(), 0);
  assert.equal(await page.locator(".chart-bar.cloud").getAttribute("fill"), "url(#cloud-hatching)");
  await page.getByText("The days as a table").click();
  const day = page.locator(".usage details tbody tr").first().locator("td");
  assert.deepEqual((await day.allInnerTexts()).slice(1, 5), ["1", "1", "2", "0"]);
  assert.deepEqual(await axe(page), []);
  // Another device's turn shows at the next look, this page's own at once.
  const cells = await latest(page).first().locator("td").allInnerTexts();
  assert.deepEqual(cells.slice(1, 5), ["cloud", "claude-sonnet-5-5", "not counted", "not counted"]);
  assert.deepEqual((await latest(page).nth(1).locator("td").allInnerTexts()).slice(3, 5), ["41", "212"]);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("days from before the ledger told routes apart are shown as such", async () => {
  const page = await openPage(browser, server.address);
  const today = new Date().toISOString().slice(0, 10);
  const row = { turns: 3, failed: 0, input_tokens: 9, output_tokens: 9, tool_calls: 0 };
  await page.route("**/deck/usage*", (route) =>
    route.fulfill({ json: { totals: row, routes: [], recent: [], days: [{ day: today, ...row, local_turns: 1 }] } }));
  await page.getByRole("button", { name: "Usage" }).click();
  await page.locator(".chart-bar.untold").waitFor();
  await page.locator(".chart-bar.local").waitFor();
  assert.equal(await page.locator(".chart-bar.cloud").count(), 0);
  await page.getByText("Grey: days that were counted").waitFor();
  await page.context().close();
});
