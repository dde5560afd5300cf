// What a newcomer does with the link that `make run` has printed (MEAD_LINK); test_readme.py starts it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ended, launch, live, openPage, send } from "../page/harness.mjs";

const { origin, pathname, hash } = new URL(process.env.MEAD_LINK);
const address = origin + pathname;
const MODEL_MS = 120_000; // it answers at the speed of this machine's processor

test("the link lets in once, and the built-in model's answer streams into the page", async () => {
  const browser = await launch();
  try {
    const page = await openPage(browser, address, { token: null, hash });
    await page.locator(".slots li").first().waitFor();
    assert.ok(!page.url().includes("code="));
    assert.match(await page.locator(".slots").innerText(), /local/);
    await page.evaluate(() => {
      globalThis.lengths = new Set(); // of the answer, while it arrives
      new MutationObserver(() => {
        const busy = document.querySelector("article[aria-busy=true] .prose");
        if (busy) globalThis.lengths.add(busy.textContent.length);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await send(page, "Tell me about the sea in five sentences.");
    const turn = await ended(page, MODEL_MS);
    await live(page);
    assert.match(await turn.locator(".prose").innerText(), /[a-z]{3}/);
    assert.ok((await page.evaluate(() => globalThis.lengths.size)) >= 3, "the answer came in one piece");
    assert.match(await turn.locator("summary").innerText(), /^\s*local\s+Stayed on this machine[\s\S]*\d+ in, \d+ out/);
    assert.ok(await turn.locator("summary .icon-lock").isVisible());
    assert.deepEqual(page.faults, []);

    const other = await openPage(browser, address, { token: null, hash });
    await other.getByText("This code was used already").waitFor();
    assert.ok(await other.locator("#token").isVisible());
    assert.ok(!other.url().includes("code="));
    assert.equal(await other.locator("#composer-text").count(), 0);
    // The first one stays signed in.
    await page.reload();
    await ended(page);
  } finally {
    await browser.close();
  }
});
