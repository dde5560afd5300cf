// For everyone: keyboard, screen reader, small screens, large text, two languages.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, axe, ended, launch, live, openPage, send, until } from "../harness.mjs";
import { STATES, atRest, leave } from "../states.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

test("Brazilian Portuguese, chosen by the browser and kept by the setting", async () => {
  const page = await openPage(browser, server.address, { locale: "pt-BR" });
  await page.getByText("Em que você está pensando?").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "pt-BR");
  await page.locator(".composer select").selectOption("local");
  await send(page, "code please");
  const turn = await ended(page);
  assert.match(await turn.innerText(), /Ficou nesta máquina[\s\S]*41 enviados, 212 recebidos/);
  assert.deepEqual(await axe(page), []);
  await page.getByRole("button", { name: "Configurações" }).click();
  await page.locator("select[name=language]").selectOption("en");
  await page.locator("dialog[open]").getByText("Keyboard").waitFor();
  await page.keyboard.press("Escape");
  assert.match(await page.locator("article.turn").innerText(), /Stayed on this machine/);
  await page.reload();
  await page.getByRole("button", { name: "Settings" }).waitFor();
  await page.context().close();
});

const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1);

test("text at 200 %, and a page of 320 px, need no scrolling sideways", async () => {
  const page = await openPage(browser, server.address, { viewport: { width: 320, height: 640 } });
  await STATES.answer(page);
  assert.deepEqual(await axe(page), []);
  assert.ok(await fits(page));
  await page.setViewportSize({ width: 640, height: 800 });
  await page.evaluate(() => document.documentElement.style.setProperty("font-size", "200%"));
  await atRest(page);
  assert.ok(await fits(page));
  await page.context().close();
});

test("forced colours and reduced motion are honoured", async () => {
  const page = await openPage(browser, server.address, { forcedColors: "active", reducedMotion: "reduce" });
  await STATES.permission(page);
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll("*")].filter((one) => getComputedStyle(one).transitionDuration.split(",").some((each) => parseFloat(each) > 0)).length,
  );
  assert.equal(moving, 0);
  await leave(page);
});

test("a screen reader hears finished sentences, code by its length, and requests at once", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await page.evaluate(() => {
    globalThis.said = [];
    const regions = [document.querySelector("[aria-live=polite]"), document.querySelector(".shell > [role=alert]")];
    for (const region of regions) {
      new MutationObserver(() => globalThis.said.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
    }
  });
  await send(page, "code please");
  await ended(page);
  await until(() => page.evaluate(() => globalThis.said.join(" ").includes("The answer is complete.")), 10_000);
  const said = await page.evaluate(() => globalThis.said.join(" "));
  assert.match(said, /Three files changed today\./);
  assert.match(said, /Code, python, 4 lines/);
  assert.doesNotMatch(said, /random\.randint|\*\*|```/);
  await send(page, "write it");
  await until(() => page.evaluate(() => globalThis.said.join(" ").includes("Needs you: files.write wants to run (high risk)")));
  assert.equal(await page.locator(".turns").getAttribute("aria-live"), "off");
  await leave(page);
});

test("everything is reached by keys", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  const focus = () => page.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.localName);
  await page.locator("#composer-text").waitFor();
  await send(page, "code please");
  await ended(page);
  await page.keyboard.press("F6");
  assert.match(await focus(), /primary/);
  await page.keyboard.press("F6");
  assert.equal(await focus(), "scroller");
  await page.keyboard.press("F6");
  assert.equal(await focus(), "composer-text");
  await page.keyboard.press("Control+k");
  assert.equal(await page.evaluate(() => document.activeElement.type), "search");
  await page.keyboard.press("Shift+Escape");
  assert.equal(await focus(), "composer-text");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.keyboard.press("Control+Shift+;");
  await until(async () => /^def delay/.test(await page.evaluate(() => navigator.clipboard.readText())));
  await page.keyboard.press("Control+/");
  await page.locator("dialog[open] kbd").first().waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await focus(), "composer-text");
  await page.keyboard.press("Control+Shift+O");
  await page.getByText("What is on your mind?").waitFor();
  // Tab goes round the page, and each stop shows where it is.
  await page.evaluate(() => document.activeElement.blur());
  const stops = new Set();
  for (let each = 0; each < 300 && stops.size < 300; each += 1) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => {
      const { activeElement: element } = document;
      if (element === document.body) return null;
      const { outlineStyle } = getComputedStyle(element);
      const inside = element.closest(".composer");
      return outlineStyle !== "none" || inside ? element.textContent || element.placeholder || element.id : `no ring: ${element.outerHTML}`;
    });
    if (name) stops.add(name.trim());
    if (name === "Ask anything") break;
  }
  assert.ok(![...stops].some((name) => name.startsWith("no ring")), [...stops].join("; "));
  for (const name of ["New conversation", "Search titles", "Usage", "Settings", "Ask anything"]) assert.ok(stops.has(name), name);
  await live(page).catch(() => {});
  await page.context().close();
});

test("shortcuts can be turned off", async () => {
  const page = await openPage(browser, server.address);
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Shortcuts are on").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+/");
  assert.equal(await page.locator("dialog[open]").count(), 0);
  await page.context().close();
});
