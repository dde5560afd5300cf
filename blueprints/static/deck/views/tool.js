// A tool call as a card: what runs, what it was given, what came back. It never folds by itself.

import { argumentLines, visible } from "../core/text.js";
import { duration, elapsed, t, tCode } from "../i18n/index.js";
import { h, setText, show, yieldFocus } from "../ui/dom.js";
import { icon } from "../ui/icons.js";
import { RequestCard } from "./request.js";

export class ToolCard {
  constructor(call, context) {
    Object.assign(this, { call, context });
    this.name = h("strong", { class: "tool-name" });
    this.kind = h("span", { class: "chip plain" });
    this.state = h("span", { class: "tool-state" });
    this.cancel = h(
      "button",
      { type: "button", class: "quiet small", onclick: () => context.cancelCall(call.id) },
      t("cancel"),
    );
    this.arguments = new Clipped("arguments", 3);
    this.result = new Clipped("result", 6);
    this.body = h("div", { class: "tool-body" }, this.arguments.element, this.result.element);
    this.element = h(
      "section",
      { class: "card tool", tabindex: "-1", "aria-label": t("toolCall") },
      h("div", { class: "tool-head" }, icon("tool"), this.name, this.kind, this.state, this.cancel),
      this.body,
    );
    this.request = null;
    this.update();
  }

  update() {
    const { call } = this;
    setText(this.name, visible([call.server, bareName(call)].filter(Boolean).join(".")));
    setText(this.kind, call.class ? tCode("class", call.class) : "");
    show(this.kind, Boolean(call.class));
    this.kind.classList.toggle("risk", call.class === "effect");
    const status = this.#status();
    this.element.dataset.status = status;
    this.element.setAttribute("aria-busy", String(status === "running"));
    this.tick();
    if (status !== "running") yieldFocus(this.cancel, this.element);
    show(this.cancel, status === "running" || status === "asking");
    this.arguments.set(argumentLines(call.arguments ?? {}));
    this.result.set(call.summary === null ? "" : visible(call.summary));
    if (call.request && !this.request && (call.request.resolved || status === "asking")) {
      this.request = new RequestCard(call.request, this.context);
      this.context.register(this.request);
      this.element.append(this.request.element);
      if (status === "asking") this.arguments.open(); // who decides sees all of it
    }
    this.request?.update();
  }

  // How long it has run, each second while it does.
  tick() {
    const status = this.#status();
    setText(this.state, [tCode("call", status), this.#took(status)].filter(Boolean).join(" \u00b7 "));
  }

  #took(status) {
    const { startedAt, endedAt } = this.call;
    if (!startedAt || status === "asking") return "";
    if (endedAt) return duration(Date.parse(endedAt) - Date.parse(startedAt));
    return status === "running" ? elapsed(Math.max(0, this.context.now() - Date.parse(startedAt))) : "";
  }

  #status() {
    const { call } = this;
    if (call.status) return call.status;
    if (call.request && this.context.isAsked(call.request.id)) return "asking";
    return "running";
  }
}

const bareName = (call) => {
  const prefix = `${call.server}__`;
  return call.tool?.startsWith(prefix) ? call.tool.slice(prefix.length) : call.tool;
};

// Text of which the first lines are shown, and the rest when the reader asks.
class Clipped {
  constructor(name, lines) {
    this.lines = lines;
    this.label = h("span", { class: "clipped-label" }, t(name));
    this.pre = h("pre", { class: `clipped clip-${lines}`, dir: "auto", role: "group", "aria-label": t(name) });
    this.toggle = h("button", { type: "button", class: "quiet small", "aria-expanded": "false", onclick: () => this.#flip() }, t("showAll"));
    this.element = h("div", { class: "clipped-box" }, this.label, this.pre, this.toggle);
  }

  set(text) {
    setText(this.pre, text);
    show(this.element, Boolean(text));
    const isLong = text.split("\n").length > this.lines || text.length > 80 * this.lines;
    show(this.toggle, isLong);
  }

  // Whole, in a box that scrolls when it is very long.
  open() {
    if (this.toggle.hidden) return;
    this.pre.classList.add("bounded");
    this.pre.tabIndex = 0;
    this.#flip(true);
  }

  #flip(wanted) {
    const isOpen = this.pre.classList.toggle("open", wanted);
    this.toggle.setAttribute("aria-expanded", String(isOpen));
    setText(this.toggle, t(isOpen ? "showLess" : "showAll"));
  }
}
