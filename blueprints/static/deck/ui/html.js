// The one place that knows lit-html, which the panels use. The transcript does not: its nodes are
// kept by hand.

export { html, nothing, render } from "../vendor/lit-html-3.3.3/lit-html.js";
export { repeat } from "../vendor/lit-html-3.3.3/directives/repeat.js";
