import assert from "node:assert/strict";
import { test } from "node:test";

import { blocksOf, newParser, signature } from "../../../blueprints/static/deck/markdown/parser.js";
import { MarkdownStream, polish } from "../../../blueprints/static/deck/markdown/stream.js";

const md = newParser();
const BITS = [
  "para ", "**b** ", "\n", "\n\n", "- item\n", "1. one\n", "```js\ncode\n", "```\n", "# h\n", "> q\n",
  "| a | b |\n|---|---|\n| 1 | 2 |\n", "    ind\n", "`c` ", "---\n", "~~~\n", "  ", "text\n", "*", "_x_", "[a](http://b.c) ",
];

// A small generator, so that a failure can be repeated.
function numbers(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

const code = (info, text) => `code ${info.trim()} ${text}`;
const signOf = ({ tokens }) =>
  tokens[0].type === "fence" ? code(tokens[0].info, tokens[0].content) : signature(tokens);

test("6,000 random texts in random pieces have the blocks of one whole parse", () => {
  const random = numbers(7);
  for (let round = 0; round < 6000; round += 1) {
    let text = "";
    for (let left = 1 + random() * 25; left > 0; left -= 1) text += BITS[Math.floor(random() * BITS.length)];
    const stream = new MarkdownStream(md);
    const got = [];
    for (let at = 0; at < text.length; ) {
      const size = 1 + Math.floor(random() * 8);
      stream.append(text.slice(at, at + size));
      at += size;
      for (const step of stream.flush().steps) {
        if (step.tokens) got.push(signOf(step));
        else if (step.closed) got.push(code(step.info, step.code));
      }
    }
    for (const step of stream.finish().steps) got.push(step.tokens ? signOf(step) : code(step.info, step.code));
    const whole = blocksOf(md.parse(text, {})).map(signOf);
    assert.deepEqual(got, whole, JSON.stringify(text));
  }
});

test("a definition that was seen counts for links that follow", () => {
  const stream = new MarkdownStream(md);
  stream.append("[a]: https://example.org\n\npara\n\n[a]\n\nnext\n");
  const links = stream.flush().steps.filter((step) => signature(step.tokens).includes("link_open"));
  assert.equal(links.length, 1);
});

test("a link that was used before its definition came makes the whole text be parsed again", () => {
  const stream = new MarkdownStream(md);
  stream.append("[a]\n\npara\n\n");
  assert.ok(!stream.flush().steps.some((step) => signature(step.tokens).includes("link_open")));
  stream.append("[a]: https://example.org\n");
  const { whole } = stream.finish();
  assert.ok(signature(whole[0].tokens).includes("link_open"));
  const plain = new MarkdownStream(md);
  plain.append("no links\n\nat all\n");
  assert.equal(plain.finish().whole, null);
});

test("an open fence hands its text over, without what may become its end", () => {
  const stream = new MarkdownStream(md);
  stream.append("one\n\n```py\na = 1\n``");
  const { steps, tail } = stream.flush();
  assert.equal(steps.length, 2);
  assert.deepEqual(steps[1], { code: "a = 1\n", info: "py", closed: false });
  assert.deepEqual(tail, []);
  stream.append("`\nafter");
  const more = stream.flush();
  assert.deepEqual(more.steps[0], { code: "a = 1\n", info: "py", closed: true });
  assert.equal(more.tail.length, 1);
});

test("an unfinished end looks as it most likely goes on", () => {
  const cases = {
    "a **bo": "a **bo**",
    "a *b": "a *b*",
    "a `co": "a `co`",
    "x [notes](ht": "x notes",
    "see ![x](http": "see ",
    "para\n\n- ": "para\n\n",
    "para\n-": "para\n",
    "text\n``": "text\n",
    "snake_case_": "snake_case_",
    "2 * 3 is six": "2 * 3 is six",
    "done.\n": "done.\n",
  };
  for (const [text, wanted] of Object.entries(cases)) assert.equal(polish(text), wanted, JSON.stringify(text));
});

test("HTML is text, and what is no safe link stays as it was written", () => {
  const tokens = md.parse("<b>x</b> [a](javascript:x) ![i](https://a.b/c.png) https://example.org/x readme.md", {});
  const types = tokens.flatMap((token) => (token.children ?? []).map((child) => child.type));
  assert.ok(!types.some((type) => type.startsWith("html")));
  assert.equal(types.filter((type) => type === "link_open").length, 1);
  assert.ok(types.includes("image"));
});

test("hostile text does not hold the page", () => {
  const started = performance.now();
  for (const text of ["_a__b ".repeat(4000), ">".repeat(5000), "[".repeat(5000), "`".repeat(9000) + "a", "*a ".repeat(8000), "![".repeat(4000)]) {
    const stream = new MarkdownStream(md);
    stream.append(text);
    stream.flush();
    stream.finish();
  }
  // No test of speed: a quadratic parser would need minutes here.
  assert.ok(performance.now() - started < 60_000);
});

test("blocks hold all tokens in order", () => {
  const tokens = md.parse("# a\n\n- b\n  - c\n\nd", {});
  assert.deepEqual(blocksOf(tokens).flatMap((block) => block.tokens), tokens);
  assert.equal(blocksOf(tokens).length, 3);
});
