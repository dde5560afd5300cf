// The text of an answer: Markdown that grows without touching what is finished.

import { MarkdownStream } from "../markdown/stream.js";
import { newParser, signature } from "../markdown/parser.js";
import { CodeBlock, renderBlock } from "../markdown/render.js";
import { arrange, h } from "../ui/dom.js";

const md = newParser();
const LEAST_MS = 50;
const REST_FACTOR = 6; // a flush that took 20 ms is followed by 120 ms for everything else
const SLICE = 16_384; // characters a flush takes in: 200 kB that come at once are a dozen frames

export class AnswerText {
  element = h("div", { class: "prose" });
  #stream = new MarkdownStream(md);
  #final = []; // { node, signature }
  #tail = []; // nodes that may still change
  #code = null; // a CodeBlock that grows
  #taken = 0;
  #nextAt = 0;
  #isDone = false;

  // `part.text` has grown, or the part is over. Gives the milliseconds until it wants to be called
  // again, or null if everything is shown.
  update(part, isOver) {
    if (this.#isDone || (part.text.length === this.#taken && !isOver)) return null;
    const now = performance.now();
    if (!isOver && now < this.#nextAt) return this.#nextAt - now;
    this.#stream.append(part.text.slice(this.#taken, this.#taken + SLICE));
    this.#taken = Math.min(part.text.length, this.#taken + SLICE);
    const hasMore = part.text.length > this.#taken;
    if (isOver && !hasMore) this.#finish();
    else this.#flush({ withTail: !isOver });
    const rest = Math.max(LEAST_MS, REST_FACTOR * (performance.now() - now));
    this.#nextAt = performance.now() + rest;
    if (!hasMore) return null;
    return isOver ? 0 : rest;
  }

  // Without its tail: the rest of a complete text is on its way, nothing unfinished has to be seen.
  #flush({ withTail }) {
    const { steps, tail } = this.#stream.flush();
    for (const step of steps) {
      if (step.tokens) this.#addFinal(this.#fromTail(step.tokens), signOf(step.tokens));
      else this.#growCode(step);
    }
    this.#showTail(withTail ? tail : []);
  }

  #addFinal(node, sign) {
    const before = this.#tail[0] ?? null;
    this.element.insertBefore(node, before?.parentNode === this.element ? before : null);
    this.#final.push({ node, signature: sign });
  }

  #growCode({ code, info, closed }) {
    if (!this.#code) {
      this.#clearTail();
      this.#code = new CodeBlock(info);
      this.element.append(this.#code.element);
    }
    if (!closed) return this.#code.grow(code);
    this.#code.close(code);
    this.#final.push({ node: this.#code.element, signature: codeSignature(info, code) });
    this.#code = null;
  }

  // While the reader's selection touches the tail it is only added to: its nodes stay.
  #showTail(blocks) {
    if (this.#code || selectionTouches(this.#tail)) return;
    const old = this.#tail;
    this.#tail = blocks.map((block) => renderBlock(block.tokens));
    const reused = this.#tail.map((node, at) => (old[at] && sameShape(old[at], node) ? old[at] : node));
    this.#tail = reused;
    for (const node of old) if (!reused.includes(node)) node.remove();
    for (const node of reused) if (node.parentNode !== this.element) this.element.append(node);
  }

  #clearTail() {
    for (const node of this.#tail) node.remove();
    this.#tail = [];
  }

  // What was shown meanwhile is kept wherever it is the same.
  #finish() {
    this.#isDone = true;
    const { steps, whole } = this.#stream.finish();
    for (const step of steps) {
      if (step.tokens) this.#addFinal(this.#fromTail(step.tokens), signOf(step.tokens));
      else this.#growCode(step);
    }
    this.#clearTail();
    if (whole) this.#reconcile(whole);
    this.#final = [];
  }

  #fromTail(tokens) {
    const node = renderBlock(tokens);
    const at = this.#tail.findIndex((one) => sameShape(one, node));
    return at < 0 ? node : this.#tail.splice(at, 1)[0];
  }

  #reconcile(blocks) {
    const shown = new Map();
    for (const { node, signature: sign } of this.#final) {
      if (!shown.has(sign)) shown.set(sign, []);
      shown.get(sign).push(node);
    }
    const wanted = blocks.map(({ tokens }) => shown.get(signOf(tokens))?.shift() ?? renderBlock(tokens));
    arrange(this.element, wanted);
  }
}

const signOf = (tokens) =>
  tokens[0].type === "fence" ? codeSignature(tokens[0].info, tokens[0].content) : signature(tokens);

const codeSignature = (info, code) => `code\u0001${info.trim()}\u0001${code}`;

// A paragraph whose only text grew is written into, so that the node stays the reader's.
function sameShape(old, node) {
  if (old.isEqualNode(node)) return true;
  const plain = (one) => one.tagName === "P" && one.childNodes.length === 1 && one.firstChild.nodeType === 3;
  if (!plain(old) || !plain(node) || !node.textContent.startsWith(old.textContent)) return false;
  old.firstChild.appendData(node.textContent.slice(old.textContent.length));
  return true;
}

function selectionTouches(nodes) {
  const selection = getSelection();
  if (!selection || selection.isCollapsed) return false;
  return nodes.some((node) => selection.containsNode(node, true));
}
