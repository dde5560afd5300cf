// docs/screenshots, made here so that they show what is: all of them anew with `MEAD_SCREENSHOTS=1`.
// Otherwise it is shown that a state looks the same in two servers and two browsers.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { FROZEN, freeze, pass } from "../frozen.mjs";
import { ROOT, Server, ended, launch, live, openPage, send } from "../harness.mjs";
import { alike, smaller } from "../png.mjs";
import { LOOKS, PHONE, STATES, atRest, leave } from "../states.mjs";

const PLACE = process.env.MEAD_SCREENSHOTS ? path.join(ROOT, "docs/screenshots") : null;
const SOON_MS = 27_000;
const SAME = 2; // of 255: rounded corners are not painted alike to the last bit
const UNCHANGED = 24; // the same, between two pictures whose palettes may differ

let browser;
const start = () => launch("--disable-partial-raster", "--disable-skia-runtime-opts", "--force-color-profile=srgb");
before(async () => (browser = await start()));
after(() => browser?.close());

async function withServer(options, act) {
  const server = await new Server(options).start();
  try {
    return await act(server);
  } finally {
    await server.end();
  }
}

// A page whose clock stands still, from its first load on.
async function frozenPage(server, { leftMs, ...options } = {}) {
  return openPage(browser, server.address, { ...FROZEN, ...options, prepare: (page) => freeze(page, { leftMs }) });
}

async function picture(page) {
  // The list as the server has it by now.
  if (await page.locator(".list-foot").count()) {
    await Promise.all([
      page.waitForResponse((response) => response.url().endsWith("/sessions")).catch(() => {}),
      page.evaluate(() => dispatchEvent(new Event("focus"))),
    ]);
  }
  await atRest(page);
  return page.screenshot({ animations: "disabled" });
}

async function reached(server, state, options) {
  const leftMs = state === "permission-soon" ? SOON_MS : undefined;
  const page = await frozenPage(server, { ...options, leftMs, ...(state === "signin" ? { token: null } : {}) });
  await STATES[state](page, server);
  if (!["signin", "empty", "deleted"].includes(state)) await live(page);
  const shown = await picture(page);
  await leave(page);
  return shown;
}

// A file that shows the same already is left as it is.
function keep(name, shown) {
  const file = path.join(PLACE, `${name}.png`);
  const made = smaller(shown);
  if (!existsSync(file) || !alike(readFileSync(file), made, UNCHANGED)) writeFileSync(file, made);
}

for (const state of ["answer", "permission", "usage"]) {
  test(`${state} looks the same in two servers and two browsers`, { timeout: 90_000 }, async () => {
    const shown = () => withServer({}, (server) => reached(server, state, PHONE));
    const first = await shown();
    await browser.close();
    browser = await start();
    assert.ok(alike(first, await shown(), SAME));
    assert.ok(smaller(first).length < first.length / 2);
  });
}

if (PLACE) {
  mkdirSync(PLACE, { recursive: true });

  for (const [look, options] of Object.entries(LOOKS)) {
    test(`every state, ${look}`, { timeout: 240_000 }, () =>
      withServer({}, async (server) => {
        for (const state of Object.keys(STATES)) keep(`${state}-${look}`, await reached(server, state, options));
        if (look.startsWith("phone")) keep(`list-${look}`, await listOpen(server, options));
        keep(`offline-${look}`, await away(server, options));
      }));

    test(`in memory only, ${look}`, { timeout: 60_000 }, () =>
      withServer({ storage: false }, async (server) => keep(`memory-${look}`, await reached(server, "answer", options))));
  }

  test("another language, larger text, forced colours, 320 pixels", { timeout: 120_000 }, () =>
    withServer({}, async (server) => {
      keep("answer-portuguese", await reached(server, "answer", { locale: "pt-BR" }));
      keep("permission-forced", await reached(server, "permission", { forcedColors: "active" }));
      keep("answer-320", await reached(server, "answer", { viewport: { width: 320, height: 640 } }));
      keep("answer-large", await large(server));
    }));
}

async function listOpen(server, options) {
  const page = await frozenPage(server, options);
  await page.getByRole("button", { name: "Conversations" }).click();
  await page.locator(".list li").first().waitFor();
  const shown = await picture(page);
  await leave(page);
  return shown;
}

// The server is gone for twenty seconds; the longest wait between two tries has been reached.
async function away(server, options) {
  const page = await frozenPage(server, options);
  await send(page, "hello");
  await ended(page);
  await page.locator("#composer-text").fill("typed while it is away");
  await server.kill();
  await page.locator(".status[data-kind=soon]").waitFor({ state: "attached" });
  await pass(page, 20_000);
  await page.locator(".banner").getByText("Next try in 12 s").waitFor({ timeout: 40_000 });
  await atRest(page);
  const shown = await page.screenshot({ animations: "disabled" });
  await page.context().close();
  return shown;
}

async function large(server) {
  const page = await frozenPage(server, { viewport: { width: 640, height: 800 } });
  await STATES.answer(page, server);
  await page.evaluate(() => document.documentElement.style.setProperty("font-size", "200%"));
  const shown = await picture(page);
  await leave(page);
  return shown;
}
