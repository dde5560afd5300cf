// What a screen reader is told of an answer that arrives: finished sentences, not tokens; a block of
// code by its kind and length. One region, at most one message per 1.5 s, so that speech keeps up.

import { t, language } from "../i18n/index.js";
import { prefs } from "./prefs.js";

const GAP_MS = 1500;

export class LiveRegion {
  #queue = [];
  #timer = null;
  #turn = null; // { id, taken } how much of the turn's text was told

  constructor(element) {
    this.element = element;
  }

  say(text) {
    this.#queue.push(text);
    this.#timer ??= setTimeout(() => this.#next(), 0);
  }

  // More of the running answer is there.
  heard(turnId, text, isOver) {
    if (this.#turn?.id !== turnId) this.#turn = { id: turnId, taken: 0 };
    const how = prefs().speech;
    if (how === "status" || (how === "end" && !isOver)) return;
    const { told, taken } = sentences(text.slice(this.#turn.taken), isOver, language());
    this.#turn.taken += taken;
    if (told) this.say(told);
  }

  // What was shown before the reader came is not read out.
  skip(turnId, text) {
    this.#turn = { id: turnId, taken: text.length };
  }

  #next() {
    this.#timer = null;
    if (!this.#queue.length) return;
    this.element.textContent = this.#queue.splice(0).join(" ");
    this.#timer = setTimeout(() => this.#next(), GAP_MS);
  }
}

const FENCE = /(^|\n) {0,3}(`{3,}|~{3,})([^\n]*)\n([\s\S]*?)\n? {0,3}\2[`~]*(?=\n|$)/g;

// The finished sentences at the beginning of `text`, and how many characters they took.
export function sentences(text, isOver, locale) {
  const open = isOver ? text.length : openFence(text);
  let part = text.slice(0, open);
  if (!isOver) {
    const segments = [...new Intl.Segmenter(locale, { granularity: "sentence" }).segment(part)];
    const last = segments.at(-1);
    if (last && !/[.!?:\n]\s*$/.test(last.segment)) part = part.slice(0, last.index);
  }
  const told = part
    .replace(FENCE, (all, lead, mark, info, code) => `${lead}${t("codeLines", info.trim(), code.split("\n").length)}. `)
    .replace(/[*_`#>|~]+/g, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\s+/g, " ")
    .trim();
  return { told, taken: part.length };
}

// Where an unfinished block of code begins; the length of the text if there is none.
function openFence(text) {
  const without = text.replace(FENCE, (all) => " ".repeat(all.length));
  const at = without.search(/(^|\n) {0,3}(`{3,}|~{3,})/);
  return at < 0 ? text.length : at;
}
