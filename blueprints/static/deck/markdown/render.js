// Markdown tokens to elements, through a closed table: a model's words never become an HTML string.

import { h } from "../ui/dom.js";
import { icon } from "../ui/icons.js";
import { t } from "../i18n/index.js";
import { visible } from "../core/text.js";
import { hostToShow, safeHref } from "./links.js";
import { highlightWhenSeen } from "./highlight.js";

const BLOCKS = {
  paragraph_open: "p",
  blockquote_open: "blockquote",
  bullet_list_open: "ul",
  ordered_list_open: "ol",
  list_item_open: "li",
  table_open: "table",
  thead_open: "thead",
  tbody_open: "tbody",
  tr_open: "tr",
  th_open: "th",
  td_open: "td",
};
const INLINE = { strong_open: "strong", em_open: "em", s_open: "s" };

// The element for the tokens of one top-level block.
export function renderBlock(tokens) {
  const root = document.createDocumentFragment();
  const stack = [root];
  for (const token of tokens) {
    if (token.nesting < 0) stack.pop();
    else if (token.nesting > 0) stack.push(opened(token, stack.at(-1)));
    else leaf(token, stack.at(-1));
  }
  return root.firstChild ?? document.createComment("");
}

function opened(token, parent) {
  if (token.type === "heading_open") {
    // An answer's headings lie below the turn's own (h2); their look follows their level.
    const level = Number(token.tag.slice(1));
    return parent.appendChild(h(`h${Math.min(level + 2, 6)}`, { class: `heading-${level}` }));
  }
  if (token.type === "paragraph_open" && token.hidden) return parent; // of a tight list
  const tag = BLOCKS[token.type];
  if (!tag) return parent.appendChild(h("p"));
  const element = h(tag, { dir: tag === "p" || tag === "li" ? "auto" : null });
  if (tag === "ol" && Number.isInteger(Number(token.attrGet("start")))) {
    const start = token.attrGet("start");
    if (start !== null) element.start = Number(start);
  }
  const align = /text-align:(left|center|right)/.exec(token.attrGet("style") ?? "");
  if (align) element.classList.add(`align-${align[1]}`);
  if (tag === "table") {
    const box = h("div", { class: "table-box", tabindex: "0", role: "group", "aria-label": t("table") });
    parent.appendChild(box).append(element);
  } else parent.append(element);
  return element;
}

function leaf(token, parent) {
  if (token.type === "inline") renderInline(token.children, parent);
  else if (token.type === "fence" || token.type === "code_block") {
    const block = new CodeBlock(token.info ?? "");
    block.close(token.content);
    parent.append(block.element);
  } else if (token.type === "hr") parent.append(h("hr"));
  else if (token.content) parent.append(token.content);
}

export function renderInline(tokens, parent) {
  const stack = [parent];
  for (const token of tokens) {
    const top = stack.at(-1);
    if (token.nesting < 0) {
      const done = stack.pop();
      if (token.type === "link_close") showHost(done, stack.at(-1));
    } else if (token.nesting > 0) stack.push(top.appendChild(inlineElement(token)));
    else inlineLeaf(token, top);
  }
}

function inlineElement(token) {
  if (token.type !== "link_open") return h(INLINE[token.type] ?? "span");
  const href = safeHref(token.attrGet("href") ?? "");
  if (href === null) return h("span");
  return h("a", { href, target: "_blank", rel: "noopener noreferrer", referrerpolicy: "no-referrer" });
}

function inlineLeaf(token, parent) {
  switch (token.type) {
    case "softbreak":
      return parent.append("\n");
    case "hardbreak":
      return parent.append(h("br"));
    case "code_inline":
      return parent.append(h("code", {}, visible(token.content)));
    case "image": // said, never loaded: an address can carry words away
      return parent.append(
        h("span", { class: "chip image-chip" }, icon("image"), token.content || t("image")),
      );
    default:
      return parent.append(visible(token.content));
  }
}

function showHost(link, parent) {
  if (link.tagName !== "A") return;
  const host = hostToShow(link.textContent, link.href);
  if (host) parent.append(h("span", { class: "link-host" }, ` (${visible(host)})`));
}

// A block of code: its text grows in one text node, and it is coloured once it is complete.
export class CodeBlock {
  constructor(info) {
    this.language = /^[\w+#.-]+/.exec(info)?.[0].toLowerCase() ?? "";
    this.text = document.createTextNode("");
    this.code = h("code", {}, this.text);
    const name = h("span", { class: "code-name" }, this.language || t("code"));
    const copy = h("button", { type: "button", class: "quiet small", onclick: () => this.#copy() });
    this.label = h("span", {}, t("copy"));
    copy.append(icon("copy"), this.label);
    this.pre = h("pre", { tabindex: "0", dir: "ltr", "aria-label": t("codeOf", this.language) }, this.code);
    this.element = h("div", { class: "code-block" }, h("div", { class: "code-bar" }, name, copy), this.pre);
    this.source = "";
  }

  // Only what is new is added, so that a selection in it stays.
  grow(source) {
    if (source.startsWith(this.source)) this.text.appendData(visible(source.slice(this.source.length)));
    else this.text.data = visible(source);
    this.source = source;
  }

  close(source) {
    this.grow(source);
    highlightWhenSeen(this);
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.source);
      this.label.textContent = t("copied");
    } catch {
      this.label.textContent = t("copyFailed");
    }
    setTimeout(() => (this.label.textContent = t("copy")), 2000);
  }
}
