// Answers as they arrive, and the conversations around them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, ended, launch, live, openPage, send, until } from "../harness.mjs";

let server, browser;
before(async () => {
  server = await new Server().start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.end();
});

test("an answer arrives as Markdown, with where it went", async () => {
  const page = await openPage(browser, server.address);
  await page.locator(".composer select").selectOption("local");
  await send(page, "code please");
  const turn = await ended(page);
  await turn.locator("pre .hljs-keyword").first().waitFor();
  assert.equal(await turn.locator("table tbody tr").count(), 3);
  assert.equal(await turn.locator("td.align-right").count(), 3);
  const link = turn.locator(".prose a");
  assert.equal(await link.getAttribute("rel"), "noopener noreferrer");
  assert.equal(await link.getAttribute("target"), "_blank");
  assert.match(await turn.locator("summary").innerText(), /local[\s\S]*Stayed on this machine[\s\S]*41 in, 212 out/);
  await turn.locator("summary").click();
  assert.match(await turn.locator(".facts").innerText(), /Chosen because[\s\S]*Tokens in\s+41/);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await turn.getByRole("button", { name: "Copy" }).click();
  await turn.getByRole("button", { name: "Copied" }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^def delay\(attempt[\s\S]*limit\)  # so/);
  assert.equal(await page.evaluate(() => document.title), "code please \u2013 Mead");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("tokens that nobody counted are said to be so", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "uncounted");
  const turn = await ended(page);
  assert.match(await turn.locator("summary").innerText(), /tokens not counted/);
  await page.context().close();
});

test("the route is chosen per prompt and told with its host", async () => {
  const page = await openPage(browser, server.address);
  await page.locator(".composer select").selectOption("cloud");
  await page.locator(".composer").getByText("Will go to").waitFor();
  await send(page, "hello");
  const turn = await ended(page);
  assert.match(await turn.locator("summary").innerText(), /cloud[\s\S]*Sent to/);
  assert.equal(await turn.locator("summary .icon-lock").count(), 0);
  await page.context().close();
});

test("Stop ends the answer, keeps what had arrived, and the queue goes on", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "endless");
  await page.locator(".prose p").first().waitFor();
  await send(page, "hello");
  await page.locator(".queue li").waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  const first = page.locator("article.turn").first();
  await first.getByText("Stopped").waitFor();
  assert.match(await first.locator(".prose").innerText(), /^The log/);
  await page.locator(".prose").getByText("What can I do for you?").waitFor();
  assert.equal(await page.locator(".queue li").count(), 0);
  assert.ok(await page.getByRole("button", { name: "Stop", exact: true }).isHidden());
  await page.context().close();
});

test("queued prompts can be cancelled and edited, a full queue gives the text back", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "endless");
  await page.locator(".prose p").first().waitFor();
  for (const text of ["first", "second", "third"]) {
    await send(page, text);
    await page.locator(".queue li", { hasText: text }).filter({ hasText: "Queued" }).waitFor();
  }
  await send(page, "one too many");
  await page.getByText("The queue is full").first().waitFor();
  assert.equal(await page.locator("#composer-text").inputValue(), "one too many");
  await page.locator("#composer-text").fill("");
  await page.locator(".queue li", { hasText: "second" }).getByRole("button", { name: "Cancel" }).click();
  await until(async () => (await page.locator(".queue li").count()) === 2);
  await page.locator(".queue li", { hasText: "third" }).getByRole("button", { name: "Edit" }).click();
  await until(async () => (await page.locator("#composer-text").inputValue()) === "third");
  await until(async () => (await page.locator(".queue li").count()) === 1);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.context().close();
});

test("a failed turn keeps its text, says what to do, and can be sent again", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "fail now");
  const failure = page.locator(".failure");
  await failure.getByText("The provider is overloaded", { exact: true }).waitFor();
  assert.match(await page.locator(".prose").innerText(), /This much had arrived/);
  await failure.getByRole("button", { name: "Send again" }).click();
  assert.equal(await page.locator("#composer-text").inputValue(), "fail now");
  await page.context().close();
});

test("editing an old prompt fills the field and rewrites nothing", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello you");
  await ended(page);
  await page.locator(".prompt").hover();
  await page.getByRole("button", { name: "Edit and send again" }).click();
  assert.equal(await page.locator("#composer-text").inputValue(), "hello you");
  await send(page, "hello again");
  await until(async () => (await page.locator("article.turn").count()) === 2);
  assert.match(await page.locator("article.turn").first().innerText(), /hello you/);
  await ended(page);
  // An empty field: the arrow brings the last prompt back.
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.locator("#composer-text").inputValue(), "hello again");
  await page.context().close();
});

test("conversations: open, rename, search, export, delete with confirmation", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello searchable");
  await ended(page);
  await page.locator(".bar").getByRole("button", { name: "Conversation" }).click();
  await page.locator("dialog").getByLabel("Title").fill("Été <b>bold</b>");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { level: 1, name: "Été <b>bold</b>" }).waitFor();
  const list = page.getByRole("navigation");
  await list.getByRole("searchbox").fill("ete");
  assert.equal(await list.locator("li").count(), 1);
  await list.getByRole("searchbox").fill("nothing like it");
  await list.getByText("No title matches.").waitFor();
  await list.getByRole("searchbox").fill("");
  await list.locator("li.open").getByRole("button").click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export as JSON Lines" }).click(),
  ]);
  assert.match(file.suggestedFilename(), /\.jsonl$/);
  const url = page.url();
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.getByText("What is on your mind?").waitFor();
  await list.locator("a", { hasText: "Été" }).click();
  await page.locator(".prose").getByText("What can I do for you?").waitFor();
  assert.equal(page.url(), url);
  await page.locator(".bar").getByRole("button", { name: "Conversation" }).click();
  await page.getByRole("button", { name: "Delete\u2026" }).click();
  await page.getByRole("button", { name: "Delete for good" }).click();
  await page.getByText("What is on your mind?").waitFor();
  assert.equal(await list.locator("a", { hasText: "Été" }).count(), 0);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a conversation that another deletes turns read-only and offers its draft", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  await page.locator("#composer-text").fill("half a thought");
  const id = page.url().split("/").at(-1);
  await server.call("DELETE", `sessions/${id}`);
  await page.getByText("This conversation was deleted").waitFor();
  assert.ok(!(await page.locator("#composer-text").isEditable()));
  await page.getByRole("button", { name: "New conversation with this draft" }).click();
  await until(async () => (await page.locator("#composer-text").inputValue()) === "half a thought");
  await page.context().close();
});

test("usage shows totals, days and the latest turns", async () => {
  const page = await openPage(browser, server.address);
  await send(page, "hello");
  await ended(page);
  await page.getByRole("button", { name: "Usage" }).click();
  await page.locator(".usage .totals").waitFor();
  assert.ok((await page.locator(".chart-bar").count()) > 0);
  await page.getByText("The days as a table").click();
  assert.ok((await page.locator(".usage details tbody tr").count()) > 0);
  assert.ok((await page.locator(".usage table").count()) >= 3);
  await page.keyboard.press("Escape");
  await live(page);
  await page.context().close();
});

// -- nothing moves under the reader ------------------------------------------------------------------

// Where the third block of the answer stands, frame after frame, until `more` characters have come.
const positions = (page, more) =>
  page.evaluate(async (more) => {
    const prose = document.querySelector("article.turn .prose");
    const block = prose.children[2];
    block.mark ??= Math.random();
    const enough = prose.textContent.length + more;
    const tops = new Set();
    do {
      await new Promise(requestAnimationFrame);
      tops.add(Math.round(block.getBoundingClientRect().top));
    } while (prose.textContent.length < enough);
    return { tops: [...tops], mark: prose.children[2].mark };
  }, more);

// The wheel's own movement is over: ten frames without one.
const isStill = (page) =>
  page.evaluate(async () => {
    const scroller = document.querySelector(".scroller");
    for (let last = NaN, same = 0; same < 10; last = scroller.scrollTop) {
      await new Promise(requestAnimationFrame);
      same = scroller.scrollTop === last ? same + 1 : 0;
    }
  });

test("200 kB arrive: the reader who scrolled up stays, finished blocks stay", { timeout: 120_000 }, async () => {
  const page = await openPage(browser, server.address);
  await send(page, "long please");
  await page.locator("article.turn .prose > :nth-child(60)").waitFor({ timeout: 30_000 });
  await page.mouse.move(640, 400);
  await page.mouse.wheel(0, -100);
  await page.mouse.wheel(0, 300);
  await isStill(page);
  const { tops, mark } = await positions(page, 50_000);
  assert.equal(tops.length, 1, tops.join(" "));
  await ended(page, 90_000);
  assert.deepEqual(await positions(page, 0), { tops, mark }, "the same element in the same place");
  assert.match(await page.locator(".pill").innerText(), /screens more/);
  assert.ok(await page.evaluate(() => document.querySelector(".prose").textContent.length > 150_000));
  await page.locator(".pill").click();
  await until(() => page.evaluate(() => {
    const scroller = document.querySelector(".scroller");
    return scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop < 2;
  }));
  await page.context().close();
});

test("a fast answer is read from its start: following ends when its prompt is at the top", async () => {
  const page = await openPage(browser, server.address);
  for (const text of ["code one", "code two"]) {
    await send(page, text);
    await ended(page);
  }
  const top = await page.locator("article.turn").last().evaluate((element) => element.getBoundingClientRect().top);
  assert.ok(top > 50 && top < 100, `${top}`);
  await page.context().close();
});

test("a selection in the running answer survives a hundred flushes", { timeout: 60_000 }, async () => {
  const page = await openPage(browser, server.address);
  await send(page, "fence please");
  await page.waitForFunction(() => (document.querySelector("article pre code")?.textContent.length ?? 0) > 200);
  const select = () =>
    page.evaluate(() => {
      const text = document.querySelector("article pre code").firstChild;
      getSelection().setBaseAndExtent(text, 5, text, 60);
      return getSelection().toString();
    });
  const selected = await select();
  await page.waitForFunction(() => document.querySelector("article pre code").textContent.length > 4000);
  assert.equal(await page.evaluate(() => getSelection().toString()), selected);
  await ended(page);
  assert.equal(await page.evaluate(() => getSelection().toString()), selected);
  await page.context().close();
});
