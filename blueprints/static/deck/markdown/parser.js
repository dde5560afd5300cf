// The one place that knows the Markdown library: its settings, and what a block is.

import MarkdownIt from "../vendor/markdown-it-15.0.3/markdown-it.js";
import { safeHref } from "./links.js";

export function newParser() {
  // HTML is text. A lone "-" under a line that still grows would flash a heading, hence no lheading.
  const md = new MarkdownIt("default", { html: false, linkify: true, typographer: false });
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false }); // "readme.md" is no host
  md.disable("lheading");
  md.validateLink = (href) => safeHref(href) !== null; // what is refused stays as it was written
  return md;
}

// The top-level blocks of a parse: [{ tokens, start, end }], lines counted from 0.
export function blocksOf(tokens) {
  const blocks = [];
  let open = 0;
  let current = null;
  for (const token of tokens) {
    if (open === 0) {
      current = { tokens: [], start: token.map?.[0] ?? 0, end: token.map?.[1] ?? 0 };
      blocks.push(current);
    }
    current.tokens.push(token);
    open += token.nesting;
  }
  return blocks;
}

// Equal for two blocks that look alike.
export function signature(tokens) {
  const parts = [];
  for (const token of tokens) {
    parts.push(token.type, token.tag, token.info ?? "", token.hidden ? "-" : "+");
    if (token.attrs) parts.push(JSON.stringify(token.attrs));
    if (token.children) parts.push(signature(token.children));
    else parts.push(token.content);
  }
  return parts.join("\u0001");
}
