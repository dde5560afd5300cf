// Markdown that is still arriving: what of it is final, and how the rest looks meanwhile. Pure.
//
// A flush parses the source from `base` on. Every top-level block before the last one that starts on
// a line already ended by a newline is final: nothing that arrives can change it, so it is handed
// over once and `base` moves behind it. Link definitions are carried along. What is left, the tail,
// is parsed again at each flush, with its open emphasis and code closed for show.
//
// A fence at the top level is not parsed while it grows: its text is handed over as it is.

import { blocksOf } from "./parser.js";

const FENCE = /^(`{3,}|~{3,})[ \t]*([^\n]*)\n/;

export class MarkdownStream {
  source = "";
  #md;
  #base = 0;
  #references = {};
  #fence = null; // { mark, info, start, scanned } offsets in the source

  constructor(md) {
    this.#md = md;
  }

  append(text) {
    this.source += text;
  }

  // { steps, tail }: steps are final blocks ({ tokens }) and code that grows or closes
  // ({ code, info, closed }), in order; tail is the list of blocks that may still change.
  flush() {
    const steps = [];
    for (;;) {
      if (this.#fence) {
        const code = this.#readFence();
        steps.push(code);
        if (!code.closed) return { steps, tail: [] };
      }
      const tail = this.#readBlocks(steps);
      if (tail) return { steps, tail };
    }
  }

  // The text is complete: what is left as final steps. `whole` is every block of the text, parsed
  // once, if what was shown may differ from that: a link may have been used before its definition
  // came. Otherwise it is null, and a long answer ends without a long pause.
  finish() {
    const steps = [];
    if (this.#fence) {
      const code = this.#readFence();
      steps.push({ ...code, closed: true });
      if (!code.closed) this.#base = this.source.length;
      this.#fence = null;
    }
    const rest = this.source.slice(this.#base);
    const env = { references: this.#references };
    steps.push(...blocksOf(this.#md.parse(rest, env)));
    this.#base = this.source.length;
    return { steps, whole: Object.keys(env.references).length ? this.#whole() : null };
  }

  #whole() {
    return blocksOf(this.#md.parse(this.source, { references: {} }));
  }

  // The tail; null if a fence has begun, which then is #fence.
  #readBlocks(steps) {
    const rest = this.source.slice(this.#base);
    const blocks = blocksOf(this.#parse(rest));
    const lines = lineStarts(rest);
    const ended = lines.length - 1; // lines that a newline has ended
    let last = blocks.length - 1;
    while (last > 0 && blocks[last].start >= ended) last -= 1;
    const cut = last >= 0 ? lines[blocks[last].start] : 0;
    for (const block of blocks.slice(0, Math.max(last, 0))) steps.push(block);
    if (cut > 0) this.#advance(rest.slice(0, cut));
    const tail = rest.slice(cut);
    if (this.#beginFence(tail)) return null;
    const polished = polish(tail);
    return polished === tail ? blocks.slice(Math.max(last, 0)) : blocksOf(this.#parse(polished));
  }

  #parse(text) {
    return this.#md.parse(text, { references: { ...this.#references } });
  }

  #advance(finished) {
    if (finished.includes("]:")) {
      const env = { references: this.#references };
      this.#md.parse(finished, env);
    }
    this.#base += finished.length;
  }

  #beginFence(tail) {
    const found = FENCE.exec(tail);
    if (!found || (found[1][0] === "`" && found[2].includes("`"))) return false;
    const start = this.#base + found[0].length;
    this.#fence = { mark: found[1], info: found[2].trim(), start, scanned: start };
    return true;
  }

  #readFence() {
    const { mark, info, start } = this.#fence;
    const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`);
    let at = this.#fence.scanned;
    for (;;) {
      const newline = this.source.indexOf("\n", at);
      if (newline < 0) break;
      if (closing.test(this.source.slice(at, newline))) {
        this.#fence = null;
        this.#base = newline + 1;
        return { code: this.source.slice(start, at), info, closed: true };
      }
      at = newline + 1;
    }
    this.#fence.scanned = at;
    const unfinished = this.source.slice(at);
    const held = /^[ `~]*$/.test(unfinished) && unfinished !== ""; // may become the closing line
    return { code: this.source.slice(start, held ? at : undefined), info, closed: false };
  }
}

function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

// -- how an unfinished end looks -------------------------------------------------------------------

// The tail as it most likely goes on: a last line that is only marks is held back, an unfinished
// link shows its text, open code and emphasis are closed.
export function polish(tail) {
  const lineStart = tail.lastIndexOf("\n") + 1;
  if (/^[\s#\-*=>|+_~:`\d.)]+$/.test(tail.slice(lineStart))) tail = tail.slice(0, lineStart);
  const end = tail.trimEnd();
  const paragraph = end.slice(end.lastIndexOf("\n\n") + 1);
  if (!end || /(^|\n) {0,3}(```|~~~)/.test(paragraph)) return tail;
  const linked = end
    .replace(/!\[[^\[\]\n]*(\](\([^()\s]*)?)?$/, "")
    .replace(/\[([^\[\]\n]*)\]\([^()\s]*$/, "$1");
  const closers = openMarks(linked.slice(linked.lastIndexOf("\n\n") + 1));
  if (closers === null) return linked;
  return linked === end && !closers ? tail : linked.replace(/[*_~]+$/, (marks) =>
    closers.startsWith([...marks].reverse().join("")) ? "" : marks) + trimmed(linked, closers);
}

// Closers for marks that stand at the very end, and so have nothing to emphasise yet, are left out.
function trimmed(text, closers) {
  const marks = /[*_~]+$/.exec(text)?.[0] ?? "";
  return closers.startsWith([...marks].reverse().join("")) ? closers.slice(marks.length) : closers;
}

// What would close the code span or the emphasis that is open at the end of `text`.
function openMarks(text) {
  const stack = [];
  const marks = /\\.|`+|\*\*|\*|__|_|~~/g;
  for (let found = marks.exec(text); found; found = marks.exec(text)) {
    const mark = found[0];
    if (mark[0] === "\\") continue;
    if (mark[0] === "`") {
      const close = findRun(text, marks.lastIndex, mark);
      if (close < 0) return marks.lastIndex >= text.length ? "" : mark;
      marks.lastIndex = close + mark.length;
      continue;
    }
    const before = text[found.index - 1] ?? " ";
    const after = text[marks.lastIndex] ?? "";
    const at = stack.lastIndexOf(mark);
    if (at >= 0 && /\S/.test(before)) stack.length = at;
    else if (/\S/.test(after || "x") && /[\s\p{P}]/u.test(before)) stack.push(mark);
  }
  return stack.reverse().join("");
}

function findRun(text, from, run) {
  const runs = /`+/g;
  runs.lastIndex = from;
  for (let found = runs.exec(text); found; found = runs.exec(text)) {
    if (found[0] === run) return found.index;
  }
  return -1;
}
