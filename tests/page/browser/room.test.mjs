// Room for the text, the prompt and the buttons: on phones, at 400 %, in long words, beside the list.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, axe, ended, launch, openPage, send } from "../harness.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
const box = (page, selector) => page.locator(selector).first().boundingBox();
const stop = (page) => page.getByRole("button", { name: /^(Stop|Parar)$/ }).click();

async function asks(page) {
  await send(page, "write it");
  await page.locator("article .request-buttons button").first().waitFor();
}

for (const [name, width, height, size] of [["1280 px at 400 %", 320, 256, "100%"], ["twice the text on a low window", 640, 400, "200%"]]) {
  test(`some of the text and the prompt stay in view while a person is asked: ${name}`, async () => {
    const page = await openPage(browser, server.address, { viewport: { width, height } });
    await page.evaluate((to) => document.documentElement.style.setProperty("font-size", to), size);
    await asks(page);
    const text = await box(page, ".scroller");
    assert.ok(text.height >= 48, `${text.height} px of text`);
    await page.locator("#composer-text").focus();
    const prompt = await box(page, "#composer-text");
    assert.ok(prompt.y >= 0 && prompt.y + 20 <= height, JSON.stringify(prompt));
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth));
    // Whatever has the focus can be seen.
    const reject = page.locator(".dock-bar").getByRole("button", { name: "Reject" });
    await reject.focus();
    const { y } = await reject.boundingBox();
    assert.ok(y >= 0 && y < height);
    assert.deepEqual(await axe(page), []);
    await stop(page);
    await page.context().close();
  });
}

for (const locale of ["en-US", "pt-BR"]) {
  test(`on a phone Stop comes beside Send and Send stays where it is, ${locale}`, async () => {
    const page = await openPage(browser, server.address, { ...PHONE, locale });
    await page.locator("#composer-text").fill("slow 4000");
    const before = await box(page, ".send");
    await page.locator(".send").tap();
    await page.locator(".stop:not([hidden])").waitFor();
    const [now, beside] = [await box(page, ".send"), await box(page, ".stop")];
    assert.deepEqual([now.x, now.y], [before.x, before.y]);
    assert.ok(beside.x + beside.width <= now.x && beside.y === now.y, JSON.stringify([now, beside]));
    await stop(page);
    await page.context().close();
  });
}

test("on a phone the list is a layer: Esc closes it, and the focus stays in it until then", async () => {
  const page = await openPage(browser, server.address, PHONE);
  const menu = page.getByRole("button", { name: "Conversations" });
  await menu.click();
  for (let each = 0; each < 12; each += 1) {
    await page.keyboard.press("Tab");
    const place = await page.evaluate(() => (document.activeElement.closest("main") ? "covered" : "reached"));
    assert.equal(place, "reached");
  }
  await page.locator(".list-head button").focus();
  await page.keyboard.press("Escape");
  await page.locator(".sidebar").waitFor({ state: "hidden" });
  assert.equal(await menu.evaluate((element) => element === document.activeElement), true);
  // A window that becomes wide has nothing to close.
  await menu.click();
  await page.setViewportSize({ width: 1000, height: 740 });
  await page.locator("#composer-text").fill("reached");
  await page.context().close();
});

test("where the list stands beside the text, its shortcut moves nothing", async () => {
  const page = await openPage(browser, server.address);
  const before = await box(page, "main");
  await page.keyboard.press("Control+k");
  assert.equal(await page.evaluate(() => document.activeElement.type), "search");
  assert.deepEqual(await box(page, "main"), before);
  await page.locator("#composer-text").fill("reached");
  await page.context().close();
});

test("a notice moves no text", async () => {
  const page = await openPage(browser, server.address, { viewport: { width: 1280, height: 500 } });
  await send(page, "code");
  await ended(page);
  await send(page, "slow 4000");
  await page.waitForFunction(() => document.querySelectorAll("article")[1]?.querySelector(".prose")?.textContent.length > 1500);
  await send(page, "hello");
  await page.locator(".queue li").waitFor();
  await page.mouse.move(640, 200);
  await page.mouse.wheel(0, -100);
  const top = () => page.evaluate(() => document.querySelectorAll("article")[1].getBoundingClientRect().top);
  await page.waitForFunction(() => {
    const now = document.querySelectorAll("article")[1].getBoundingClientRect().top;
    const isStill = globalThis.lastTop === now;
    globalThis.lastTop = now;
    return isStill;
  }, null, { polling: 200 });
  const before = await top();
  await stop(page);
  await page.locator(".note").waitFor();
  assert.equal(await top(), before);
  await page.context().close();
});

test("twice the text: the list's own buttons stay whole", async () => {
  const page = await openPage(browser, server.address);
  await page.evaluate(() => document.documentElement.style.setProperty("font-size", "200%"));
  const list = await box(page, ".sidebar");
  for (const name of ["Usage", "Settings"]) {
    const button = await page.locator(".list-foot").getByRole("button", { name }).boundingBox();
    assert.ok(button.x + button.width <= list.x + list.width, name);
  }
  await page.context().close();
});

test("a prompt is measured by the limit that is nearer", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  await page.locator("#composer-text").fill("\u0416".repeat(35_000)); // two bytes each
  await page.getByText(/^70,\d{3} of 65,536 bytes$/).waitFor();
  assert.equal(await page.locator(".send").getAttribute("aria-disabled"), "true");
  await page.context().close();
});

test("each shortcut can be turned off by itself, the arrow in an empty prompt, too", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  await page.keyboard.press("Control+/");
  await page.getByRole("checkbox", { name: "On: In an empty prompt: edit the last one" }).uncheck();
  await page.getByRole("checkbox", { name: "On: Search conversations" }).uncheck();
  await page.keyboard.press("Escape");
  await page.locator("#composer-text").focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Control+k");
  assert.equal(await page.locator("#composer-text").inputValue(), "");
  assert.equal(await page.evaluate(() => document.activeElement.id), "composer-text");
  await page.keyboard.press("Control+/");
  await page.locator("dialog[open]").waitFor();
  await page.context().close();
});

for (const width of [360, 320]) {
  for (const [locale, how] of [["en-US", { hasTouch: true, isMobile: true }], ["pt-BR", {}]]) {
    test(`${width} px with a conversation open: nothing scrolls sideways and the dot is round, ${locale}`, async () => {
      const page = await openPage(browser, server.address, { viewport: { width, height: 740 }, locale, ...how });
      await send(page, `hello ${"a long title ".repeat(8)}`);
      await ended(page);
      await page.locator(".status[data-kind=live]").waitFor();
      const seen = await page.evaluate(() => {
        const dot = document.querySelector(".status .dot").getBoundingClientRect();
        const word = document.querySelector(".status").lastElementChild.getBoundingClientRect();
        const { scrollWidth } = document.documentElement;
        return { round: dot.width === dot.height, gap: innerWidth - word.right, over: scrollWidth - document.documentElement.clientWidth };
      });
      assert.ok(seen.round && seen.gap >= 8 && seen.over === 0, JSON.stringify(seen));
      // Nor with a longer word and the badge beside it.
      await page.evaluate(() => (document.querySelector(".bar .chip").hidden = false));
      await page.evaluate(() => (document.querySelector(".status").lastElementChild.textContent = "Reconectando"));
      const over = () => page.evaluate(() => Math.max(0, ...[...document.querySelectorAll(".bar > *")].map((each) => each.getBoundingClientRect().right - innerWidth)));
      assert.equal(await over(), 0);
      await page.context().close();
    });
  }
}

test("on a phone a request covers nothing of its arguments, and Show begins with its head", async () => {
  const page = await openPage(browser, server.address, PHONE);
  await asks(page);
  await page.locator(".dock-bar").getByRole("button", { name: "Show" }).click();
  const [text, head] = [await box(page, ".scroller"), await box(page, "article .card .tool-head")];
  assert.ok(head.y >= text.y && head.y + head.height <= text.y + text.height, JSON.stringify([text, head]));
  const [pre, request] = [await box(page, "article .card pre"), await box(page, "article .request")];
  assert.ok(pre.y + pre.height <= request.y, JSON.stringify([pre, request]));
  await stop(page);
  await page.context().close();
});

for (const [width, height] of [[1100, 760], [1280, 800]]) {
  test(`a request with long arguments offers all its answers while any of it is in view: ${width} x ${height}`, async () => {
    const page = await openPage(browser, server.address, { viewport: { width, height } });
    await send(page, "code"); // so that the card opens below a long answer
    await ended(page);
    await send(page, "writemore");
    await page.locator("article .request-buttons button").first().waitFor();
    const seen = () =>
      page.evaluate(() => {
        const { top, bottom } = document.querySelector(".scroller").getBoundingClientRect();
        const isIn = (element) => {
          const box = element.getBoundingClientRect();
          return box.top >= top - 1 && box.bottom <= bottom + 1;
        };
        const buttons = [...document.querySelectorAll("article .request-buttons button")];
        return { buttons: buttons.filter(isIn).map((each) => each.textContent), head: isIn(document.querySelector("article .card .tool-head")) };
      });
    const all = ["Reject", "Allow once", "Always\u2026"];
    await page.locator(".dock-bar").getByRole("button", { name: "Show" }).click();
    assert.deepEqual(await seen(), { buttons: all, head: true });
    // Scrolled by the reader to where the card only begins, its answers stay.
    await page.locator(".scroller").evaluate((element) => (element.scrollTop -= 60));
    assert.deepEqual((await seen()).buttons, all);
    await page.locator("article").getByRole("button", { name: "Reject" }).click({ delay: 50, trial: true });
    await stop(page);
    await page.context().close();
  });
}
