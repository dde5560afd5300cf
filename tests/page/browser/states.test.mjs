// Every state that matters, in every look: no serious fault of access, nothing wider than the screen.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, axe, ended, launch, openPage, send } from "../harness.mjs";
import { LOOKS, PHONE, STATES, atRest, leave } from "../states.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

async function assertSound(page, name) {
  await atRest(page);
  assert.deepEqual(await axe(page), [], name);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${name}: wider than the screen`);
  assert.deepEqual(page.faults, [], name);
}

for (const look of ["light", "dark", "phone", "tablet-dark"]) {
  test(`every state is without serious faults, ${look}`, { timeout: 240_000 }, async () => {
    for (const [name, reach] of Object.entries(STATES)) {
      const stranger = name === "signin" ? { token: null } : {};
      const page = await openPage(browser, server.address, { ...LOOKS[look], ...stranger });
      await reach(page, server);
      await assertSound(page, name);
      await leave(page);
    }
  });
}

test("so are the list on a phone, and a server that is away", { timeout: 90_000 }, async () => {
  const own = await new Server().start();
  const page = await openPage(browser, own.address, PHONE);
  await send(page, "hello");
  await ended(page);
  await page.getByRole("button", { name: "Conversations" }).click();
  await assertSound(page, "list");
  await page.locator(".shade").click({ position: { x: 340, y: 300 } });
  await own.kill();
  await page.locator(".status[data-kind=reconnecting]").waitFor();
  await page.locator(".banner").waitFor({ timeout: 40_000 });
  await assertSound(page, "offline");
  await page.context().close();
  await own.end();
});
