// The states of the page that matter, and how each is reached: for axe, and for the screenshots.

import { ended, send } from "./harness.mjs";

export const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
const TABLET = { viewport: { width: 768, height: 1024 } };
const DARK = { colorScheme: "dark" };

export const LOOKS = {
  light: {},
  dark: DARK,
  tablet: TABLET,
  "tablet-dark": { ...TABLET, ...DARK },
  phone: PHONE,
  "phone-dark": { ...PHONE, ...DARK },
};

const request = (page, button) => page.locator("article .request-buttons:visible").last().getByText(button).waitFor();

async function permission(page, prompt) {
  await send(page, prompt);
  await request(page, "Allow once");
  await page.locator(".dock-bar").getByRole("button", { name: "Show" }).click();
}

async function asksForAll(page) {
  await send(page, "hello");
  await ended(page);
  await page.evaluate(() => document.querySelector(".list-foot button:last-child").click());
  await page.getByRole("radio", { name: /Ask for all/ }).click();
  await page.keyboard.press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "detached" });
}

// Each takes a page of a signed-in reader (`signin` one of a stranger) and its server.
export const STATES = {
  async signin(page) {
    await page.locator("#token").fill("wrong-token-wrong-token-wrong-token-00");
    await page.keyboard.press("Enter");
    await page.getByText("The server does not know this token.").waitFor();
  },
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
    await send(page, "held");
    await page.locator(".prose p").nth(1).waitFor();
    await send(page, "hello");
    await page.locator(".queue li", { hasText: "Queued" }).waitFor();
  },
  async tool(page) {
    await send(page, "sleep for a while");
    await page.locator(".tool").getByText("running").waitFor();
  },
  async permission(page) {
    await permission(page, "both of them");
  },
  async "permission-low"(page) {
    await asksForAll(page);
    await permission(page, "read the notes");
  },
  async "permission-soon"(page) {
    await permission(page, "both of them, soon");
  },
  async question(page) {
    await send(page, "ask me");
    await request(page, "All of them");
  },
  async failed(page) {
    await send(page, "fail now");
    await page.locator(".failure").waitFor();
    await ended(page);
  },
  async deleted(page, server) {
    await send(page, "code to delete");
    await ended(page);
    await page.locator("#composer-text").fill("and what about the fourth?");
    await server.call("DELETE", `sessions/${page.url().split("/").at(-1)}`);
    await page.getByText("This conversation was deleted").waitFor();
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

// A turn that would go on for long is stopped, so that it stands in nobody's way.
export async function leave(page) {
  const stop = page.getByRole("button", { name: "Stop", exact: true });
  if (await stop.isVisible()) {
    await stop.click();
    await page.locator(".failure:visible").last().waitFor();
  }
  await page.context().close();
}

// What was to move has moved, and is painted.
export const atRest = (page) =>
  page.evaluate(async () => {
    await new Promise(requestAnimationFrame);
    await Promise.all(document.getAnimations().filter(({ effect }) => effect.getComputedTiming().iterations < 100).map(({ finished }) => finished.catch(() => {})));
    await new Promise(requestAnimationFrame);
  });
