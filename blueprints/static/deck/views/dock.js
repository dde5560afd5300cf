// The bar above the composer while a person is needed: the oldest request, how long it still waits,
// the way to it, and Reject. It covers nothing: the transcript's room becomes smaller.

import { visible } from "../core/text.js";
import { clock, t } from "../i18n/index.js";
import { h, setText, yieldFocus } from "../ui/dom.js";
import { icon } from "../ui/icons.js";
import { Armed, toolName } from "./request.js";

export class Dock {
  #request = null;

  // context: timeLeft(request), isLive(), answer(request, answer), show(request)
  constructor(context, fallback) {
    Object.assign(this, { context, fallback });
    this.text = h("span", { class: "dock-text" });
    this.left = h("span", { class: "countdown" });
    this.showButton = h("button", { type: "button", onclick: () => context.show(this.#request) });
    this.reject = h("button", { type: "button", onclick: (event) => this.#reject(event) });
    this.element = h(
      "section",
      { class: "dock-bar", hidden: true },
      icon("warning"),
      this.text,
      this.left,
      this.showButton,
      this.reject,
    );
    this.armed = new Armed(this.element);
  }

  update(requests) {
    const [first] = requests;
    if (!first) {
      yieldFocus(this.element, this.fallback());
      this.element.hidden = true;
      this.#request = null;
      return;
    }
    if (first !== this.#request) this.armed.disturb();
    this.#request = first;
    this.element.hidden = false;
    this.element.setAttribute("aria-label", t("needsYou"));
    this.element.classList.toggle("high", first.risk === "high");
    const about = first.kind === "choice" ? visible(first.prompt) : t("dockTool", visible(toolName(first)), first.risk === "high");
    const many = requests.length > 1 ? ` (${t("oneOf", 1, requests.length)})` : "";
    setText(this.text, `${t("needsYou")}: ${about}${many}`);
    setText(this.showButton, t("show"));
    setText(this.reject, t("reject"));
    this.reject.hidden = first.kind === "choice";
    this.reject.setAttribute("aria-disabled", String(!this.context.isLive()));
    this.tick();
  }

  tick() {
    if (this.#request) setText(this.left, clock(this.context.timeLeft(this.#request)));
  }

  #reject(event) {
    if (this.armed.accepts(event) && this.context.isLive()) this.context.answer(this.#request, "reject_once");
  }
}
