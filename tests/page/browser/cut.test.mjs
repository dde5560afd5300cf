// Answers that are not whole, and older turns that do not come.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, ended, launch, openPage, send, until } from "../harness.mjs";

let server, browser;
before(async () => {
  server = await new Server({ eventLogLimit: 30 }).start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

for (const [locale, cut, odd] of [
  ["en-US", /^Cut: the answer reached its longest length\. Ask the model to go on/, /stopped with .pause_9./],
  ["pt-BR", /^Cortada: a resposta chegou ao tamanho m\u00e1ximo\. Pe\u00e7a ao modelo/, /parou com .pause_9./],
]) {
  test(`an answer that was cut says so below it, and what to do; a whole one does not, ${locale}`, async () => {
    const page = await openPage(browser, server.address, { locale });
    await send(page, "hello");
    assert.ok(await (await ended(page)).locator(".cut").isHidden());
    await send(page, "cut");
    const turn = await ended(page);
    assert.match(await turn.locator(".cut").innerText(), cut);
    await until(async () => (await page.locator(".shell > [aria-live=polite]").textContent()).match(cut.source.slice(1, 20)));
    await send(page, "odd");
    assert.match(await (await ended(page)).locator(".cut").innerText(), odd);
    // As it is read again from the stored log.
    await page.reload();
    await page.locator(".cut").getByText(cut).waitFor();
    await page.context().close();
  });
}

test("older turns that cannot be loaded say so, and come at the next try", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  for (let each = 0; each < 9; each += 1) {
    await send(page, `hello ${each}`);
    await ended(page);
  }
  let isDown = true;
  await page.route(/\/history\?/, (route) => (isDown ? route.abort() : route.continue()));
  await page.reload();
  await page.getByText("Older turns could not be loaded.").first().waitFor();
  isDown = false;
  await page.getByRole("button", { name: "Show older turns" }).click();
  await page.locator(".prompt-text").getByText("hello 0", { exact: true }).waitFor();
  await page.context().close();
});

test("near the limit a screen reader is told the size once for each step, not at each key", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  const polite = page.locator(".shell > [aria-live=polite]");
  await page.locator("#composer-text").fill("a".repeat(48_500));
  await page.getByText(/^48,500 of 60,000 characters$/).first().waitFor();
  await until(async () => (await polite.textContent()).includes("48,500 of 60,000"));
  await page.keyboard.press("End");
  await page.keyboard.type("bcd");
  await page.locator(".composer-count").getByText(/^48,503/).waitFor();
  await page.locator("#composer-text").fill("a".repeat(60_001));
  await until(async () => (await polite.textContent()).includes("60,001 of 60,000"));
  assert.doesNotMatch(await polite.textContent(), /48,50[123]/);
  assert.equal(await page.locator(".composer-count").getAttribute("role"), null);
  await page.context().close();
});
