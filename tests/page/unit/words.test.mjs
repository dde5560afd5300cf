// Every text that the page asks for is there, in both languages, with the same values.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import en from "../../../blueprints/static/deck/i18n/en.js";
import ptBR from "../../../blueprints/static/deck/i18n/pt-BR.js";
import { chooseLanguage, duration, language, t, tCode } from "../../../blueprints/static/deck/i18n/index.js";
import { cutText } from "../../../blueprints/static/deck/views/cut.js";

const DECK = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../blueprints/static/deck");
const sources = readdirSync(DECK, { recursive: true })
  .filter((name) => name.endsWith(".js") && !/^(vendor|i18n)/.test(name))
  .map((name) => readFileSync(path.join(DECK, name), "utf8"))
  .join("\n");

test("both languages have the same keys", () => {
  assert.deepEqual(Object.keys(ptBR).sort(), Object.keys(en).sort());
});

test("both languages take the same values", () => {
  for (const [key, text] of Object.entries(en)) {
    assert.equal(typeof ptBR[key], typeof text, key);
    if (typeof text === "function") assert.equal(ptBR[key].length, text.length, key);
    else assert.ok(text.trim() && ptBR[key].trim(), key);
  }
});

test("every key that the page names is there", () => {
  const named = [...sources.matchAll(/\bt\(\s*"([^"]+)"/g)].map((match) => match[1]);
  assert.ok(named.length > 100);
  assert.deepEqual(named.filter((key) => !(key in en)), []);
});

test("every prefix of codes that the page uses has texts", () => {
  const prefixes = [
    ...[...sources.matchAll(/\bt\(`([\w]+)\./g)].map((match) => match[1]),
    ...[...sources.matchAll(/tCode\("([\w]+)"/g)].map((match) => match[1]),
  ];
  for (const prefix of new Set(prefixes)) {
    assert.ok(Object.keys(en).some((key) => key.startsWith(`${prefix}.`)), prefix);
  }
});

test("no text is there that nobody asks for", () => {
  const codes = new Set([...sources.matchAll(/(?:\bt\(`|tCode\(")([\w]+)[."]/g)].map((match) => match[1]));
  const unused = Object.keys(en).filter((key) => !sources.includes(`"${key}"`) && !codes.has(key.split(".")[0]));
  assert.deepEqual(unused, []);
});

test("the language is the setting, else the browser's, else English", () => {
  chooseLanguage(null, ["de", "pt-PT", "en"]);
  assert.equal(language(), "pt-BR");
  assert.equal(t("send"), "Enviar");
  assert.equal(duration(240), "0,2 s");
  chooseLanguage(null, ["de"]);
  assert.equal(language(), "en");
  assert.equal(duration(75_000), "1:15");
  chooseLanguage("pt-BR", ["en"]);
  assert.equal(t("tokens", 1, 2), "1 enviados, 2 recebidos");
  chooseLanguage("en");
  assert.equal(tCode("failed", "something_new"), "something_new");
});

test("why an answer was cut is told for each reason, and nothing is told of one that ended by itself", () => {
  chooseLanguage("en");
  const told = (stopReason, status = "completed") => cutText({ stopReason, status });
  for (const reason of ["max_tokens", "model_context_window_exceeded", "refusal", "content_filter"]) assert.match(told(reason), /^Cut: /, reason);
  assert.match(told("a\u202eb"), /stopped with .a/);
  assert.doesNotMatch(told("a\u202eb"), /\u202e/);
  for (const reason of ["end_turn", "stop_sequence", "tool_use", null]) assert.equal(told(reason), null);
  assert.equal(told("max_tokens", "failed"), null);
});
