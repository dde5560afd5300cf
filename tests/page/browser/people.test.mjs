// For everyone: keyboard, screen reader, contrast, small screens, large text, two languages. And the
// screenshots of docs/screenshots, made here so that they show what is.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { ROOT, Server, axe, ended, launch, live, openPage, send, until } from "../harness.mjs";

// Written over only when asked: `MEAD_SCREENSHOTS=1`.
const PLACE = process.env.MEAD_SCREENSHOTS ? path.join(ROOT, "docs/screenshots") : null;
if (PLACE) mkdirSync(PLACE, { recursive: true });

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

const LOOKS = {
  light: {},
  dark: { colorScheme: "dark" },
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
  tablet: { viewport: { width: 768, height: 1024 }, colorScheme: "dark" },
};

async function shot(page, name) {
  const problems = await axe(page);
  assert.deepEqual(problems, [], name);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
  assert.ok(!wide, `${name}: wider than the screen`);
  if (PLACE && !name.endsWith("tablet")) await page.screenshot({ path: path.join(PLACE, `${name}.png`) });
}

const STATES = {
  async empty(page) {
    await page.getByText("What is on your mind?").waitFor();
    await page.locator(".slots li").first().waitFor();
  },
  async answer(page) {
    await page.locator(".composer select").selectOption("local");
    await send(page, "code please");
    const turn = await ended(page);
    await turn.locator(".hljs-keyword").first().waitFor();
    await page.evaluate(() => document.activeElement.blur());
  },
  async streaming(page) {
    await send(page, "slow");
    await page.locator(".prose p").nth(1).waitFor();
    await send(page, "hello");
    await page.locator(".queue li", { hasText: "Queued" }).waitFor();
  },
  async permission(page) {
    await send(page, "both of them");
    await page.locator("article .request-buttons").last().getByText("Allow once").waitFor();
  },
  async question(page) {
    await send(page, "ask me");
    await page.locator("article .request-buttons").getByText("All of them").waitFor();
  },
  async failed(page) {
    await send(page, "fail now");
    await page.locator(".failure").waitFor();
    await ended(page);
  },
  async usage(page) {
    await send(page, "hello");
    await ended(page);
    await page.evaluate(() => document.querySelector(".list-foot button").click());
    await page.locator(".usage .totals").waitFor();
  },
  async settings(page) {
    await send(page, "hello");
    await ended(page);
    await page.evaluate(() => document.querySelector(".list-foot button:last-child").click());
    await page.locator("dialog[open] fieldset").waitFor();
  },
};

for (const [look, options] of Object.entries(LOOKS)) {
  test(`every main state is without serious faults, ${look}`, { timeout: 120_000 }, async () => {
    for (const [name, reach] of Object.entries(STATES)) {
      const page = await openPage(browser, server.address, options);
      await reach(page);
      await shot(page, `${name}-${look}`);
      if (name === "streaming" || name === "permission" || name === "question") await stop(page);
      assert.deepEqual(page.faults, [], name);
      await page.context().close();
    }
  });
}

async function stop(page) {
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.locator(".failure:visible").last().waitFor();
}

test("signing in, a lost server, the list on a phone", { timeout: 60_000 }, async () => {
  const own = await new Server().start();
  const page = await openPage(browser, own.address, { token: null });
  await page.locator("#token").waitFor();
  await shot(page, "signin-light");
  await page.context().close();
  const phone = await openPage(browser, own.address, LOOKS.phone);
  await send(phone, "hello");
  await ended(phone);
  await phone.getByRole("button", { name: "Conversations" }).click();
  await phone.waitForTimeout(200);
  await shot(phone, "list-phone");
  await phone.locator(".shade").click({ position: { x: 340, y: 300 } });
  await own.kill();
  await phone.locator(".status[data-kind=reconnecting]").waitFor();
  await phone.locator(".banner").waitFor({ timeout: 30_000 });
  await shot(phone, "offline-phone");
  await phone.context().close();
  await own.end();
});

test("Brazilian Portuguese, chosen by the browser and kept by the setting", async () => {
  const page = await openPage(browser, server.address, { locale: "pt-BR" });
  await page.getByText("Em que você está pensando?").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "pt-BR");
  await page.locator(".composer select").selectOption("local");
  await send(page, "code please");
  const turn = await ended(page);
  assert.match(await turn.innerText(), /Ficou nesta máquina[\s\S]*41 enviados, 212 recebidos/);
  await shot(page, "answer-portuguese");
  await page.getByRole("button", { name: "Configurações" }).click();
  await page.locator("select[name=language]").selectOption("en");
  await page.locator("dialog[open]").getByText("Keyboard").waitFor();
  await page.keyboard.press("Escape");
  assert.match(await page.locator("article.turn").innerText(), /Stayed on this machine/);
  await page.reload();
  await page.getByRole("button", { name: "Settings" }).waitFor();
  await page.context().close();
});

test("text at 200 %, and a page of 320 px, need no scrolling sideways", async () => {
  const page = await openPage(browser, server.address, { viewport: { width: 320, height: 640 } });
  await STATES.answer(page);
  await shot(page, "answer-320");
  await page.setViewportSize({ width: 640, height: 800 });
  await page.evaluate(() => document.documentElement.style.setProperty("font-size", "200%"));
  await page.waitForTimeout(100);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1));
  if (PLACE) await page.screenshot({ path: path.join(PLACE, "answer-large.png") });
  await page.context().close();
});

test("forced colours and reduced motion are honoured", async () => {
  const page = await openPage(browser, server.address, { forcedColors: "active", reducedMotion: "reduce" });
  await STATES.permission(page);
  if (PLACE) await page.screenshot({ path: path.join(PLACE, "permission-forced.png") });
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll("*")].filter((one) => getComputedStyle(one).transitionDuration.split(",").some((each) => parseFloat(each) > 0)).length,
  );
  assert.equal(moving, 0);
  await stop(page);
  await page.context().close();
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
  await stop(page);
  await page.context().close();
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
  await page.waitForTimeout(100);
  assert.equal(await page.locator("dialog[open]").count(), 0);
  await page.context().close();
});
