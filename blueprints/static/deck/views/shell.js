// The frame of the page: the list, the conversation, and what lies over them.

import { t } from "../i18n/index.js";
import { h, setText, show } from "../ui/dom.js";
import { icon } from "../ui/icons.js";
import { olderButton } from "./transcript.js";

const BESIDE = matchMedia("(min-width: 900px)"); // as css/app.css has it

export class Shell {
  #asked = new Map(); // id -> note

  // actions: manage(), settings(), more()
  constructor(root, actions) {
    this.skip = h("a", { class: "skip", href: "#composer-text", onclick: (event) => this.#skip(event) });
    this.list = h("nav", { class: "sidebar", id: "sidebar" });
    this.shade = h("div", { class: "shade", hidden: true, onclick: () => this.toggleList(false) });
    this.menu = h(
      "button",
      { type: "button", class: "quiet icon-only menu", "aria-controls": "sidebar", "aria-expanded": "false", onclick: () => this.toggleList() },
      icon("menu"),
    );
    this.title = h("h1", { dir: "auto", tabindex: "-1" });
    this.manage = h("button", { type: "button", class: "quiet icon-only manage", onclick: actions.manage }, icon("more"));
    this.volatile = h("span", { class: "chip risk", hidden: true });
    this.policy = h("button", { type: "button", class: "quiet policy", onclick: actions.settings });
    this.bar = h("header", { class: "bar" }, this.menu, this.title, this.manage, this.volatile, this.policy);
    this.notice = h("div", { class: "notices", role: "status" });
    this.older = olderButton();
    this.turns = h("div", { class: "turns", role: "log", "aria-live": "off", "aria-relevant": "additions" });
    this.emptyBox = h("div", { class: "empty-box" });
    this.column = h("div", { class: "column" }, this.older, this.emptyBox, this.turns);
    this.scroller = h("div", { class: "scroller", tabindex: "0", role: "region" }, this.column);
    this.pill = h("button", { type: "button", class: "pill", hidden: true, onclick: actions.more });
    this.pillText = h("span", {});
    this.pill.append(icon("down"), this.pillText);
    // Below the text, so that nothing which comes here moves it.
    this.above = h("div", { class: "dock-above" }, this.notice);
    this.dock = h("div", { class: "dock" }, this.above);
    this.main = h(
      "main",
      { class: "conversation" },
      this.bar,
      h("div", { class: "stage" }, this.scroller, this.pill),
      this.dock,
    );
    this.polite = h("div", { class: "visually-hidden", "aria-live": "polite" });
    this.alert = h("div", { class: "visually-hidden", role: "alert" });
    this.root = h("div", { class: "shell" }, this.list, this.shade, this.main, this.polite, this.alert);
    this.list.addEventListener("keydown", (event) => this.#listKey(event));
    root.replaceChildren(this.skip, this.root);
    this.translate();
  }

  // The window has become wider or narrower, until `signal` ends it.
  watch(signal) {
    BESIDE.addEventListener("change", () => this.toggleList(false), { signal });
  }

  translate() {
    setText(this.skip, t("skip"));
    this.list.setAttribute("aria-label", t("conversations"));
    this.menu.setAttribute("aria-label", t("conversations"));
    this.manage.setAttribute("aria-label", t("conversation"));
    this.scroller.setAttribute("aria-label", t("transcript"));
    this.turns.setAttribute("aria-label", t("transcript"));
    setText(this.volatile, t("inMemory"));
    setText(this.older, t("older"));
  }

  // Where there is no room beside the text the list is a layer: what it covers is out of reach.
  toggleList(wanted = !this.root.classList.contains("list-open")) {
    const isOpen = wanted && !BESIDE.matches;
    const hadFocus = this.list.contains(document.activeElement);
    this.root.classList.toggle("list-open", isOpen);
    this.menu.setAttribute("aria-expanded", String(isOpen));
    show(this.shade, isOpen);
    this.main.inert = isOpen;
    if (isOpen) this.list.querySelector("button")?.focus();
    else if (hadFocus && !BESIDE.matches) this.menu.focus();
  }

  #listKey(event) {
    if (event.key !== "Escape" || !this.root.classList.contains("list-open")) return;
    event.preventDefault();
    this.toggleList(false);
  }

  // Something that a person should know and that needs no answer.
  tell(text, button = null) {
    for (const told of this.notice.children) if (told.firstChild.textContent === text) told.remove();
    const note = h("div", { class: "note" }, h("span", {}, text), button);
    const close = h("button", { type: "button", class: "quiet icon-only", "aria-label": t("close"), onclick: () => note.remove() }, icon("cross"));
    note.append(close);
    this.notice.append(note);
    while (this.notice.childElementCount > 3) this.notice.firstChild.remove();
    return note;
  }

  // Something that asks for a yes, until it is settled; no answer is a no.
  ask(id, text, label, act) {
    const agree = () => (act(), this.settled(id));
    const button = h("button", { type: "button", class: "small", onclick: agree }, label);
    this.#asked.set(id, this.tell(text, button));
  }

  settled(id) {
    this.#asked.get(id)?.remove();
    this.#asked.delete(id);
  }

  // The focus goes from part to part: list, text, prompt.
  nextRegion() {
    const parts = [
      [this.list, this.list.querySelector("button")],
      [this.scroller, this.scroller],
      [this.dock, this.dock.querySelector("textarea")],
    ].filter(([, target]) => target?.checkVisibility({ visibilityProperty: true }));
    const at = parts.findIndex(([part]) => part.contains(document.activeElement));
    parts[(at + 1) % parts.length]?.[1].focus();
  }

  // Spoken at once, for those who do not see it.
  warn(text) {
    this.alert.textContent = text;
  }

  #skip(event) {
    event.preventDefault(); // the address belongs to the routes
    document.getElementById("composer-text")?.focus();
  }
}
