// Where a prompt is written. Enter sends and Shift+Enter breaks the line (the other way about on a
// touch screen); nothing happens while an input method composes. Nothing typed is ever cut.

import { longestFit, measure } from "../core/protocol.js";
import { isLoopback, outlook } from "../core/select.js";
import { visible } from "../core/text.js";
import { number, t } from "../i18n/index.js";
import { h, setText, show, yieldFocus } from "../ui/dom.js";
import { icon } from "../ui/icons.js";
import { isOn } from "../ui/keys.js";

const TELL_FROM = 0.8; // of the limit
const isCoarse = matchMedia("(pointer: coarse)");

export class Composer {
  #limits = { frame_bytes: 65_536, text_characters: 60_000 };
  #canSend = true;
  #info = null;
  #told = 0; // tenths of the limit, of which a screen reader knows

  // actions: send(text, route), stop(), changed({ text, route }), editLast(), say(text)
  constructor(actions) {
    this.actions = actions;
    this.text = h("textarea", {
      id: "composer-text",
      rows: "1",
      dir: "auto",
      enterkeyhint: isCoarse.matches ? "enter" : "send",
      "aria-describedby": "composer-where",
    });
    this.label = h("label", { for: "composer-text", class: "visually-hidden" });
    this.route = h("select", { "aria-label": "" });
    this.send = h("button", { type: "submit", class: "primary send" });
    this.stop = h("button", { type: "button", class: "stop", hidden: true, onclick: () => actions.stop() });
    this.where = h("p", { id: "composer-where", class: "meta composer-where" });
    this.count = h("p", { class: "meta composer-count" });
    this.excess = h("button", { type: "button", class: "quiet small", hidden: true, onclick: () => this.#selectExcess() });
    this.routeBox = h("label", { class: "route-box" });
    this.element = h(
      "form",
      { class: "composer" },
      this.label,
      this.text,
      h("div", { class: "composer-row" }, this.routeBox, this.where, this.count, this.excess, this.stop, this.send),
    );
    this.#listen();
    this.translate();
  }

  translate() {
    setText(this.label, t("ask"));
    this.text.placeholder = t("ask");
    this.send.replaceChildren(icon("send"), h("span", {}, t("send")));
    this.stop.replaceChildren(icon("stop"), h("span", {}, t("stop")));
    setText(this.excess, t("selectExcess"));
    this.route.setAttribute("aria-label", t("routeLabel"));
    const chosen = this.route.value || "auto";
    this.route.replaceChildren(
      ...["auto", "local", "cloud"].map((name) => h("option", { value: name }, t(`route.${name}`))),
    );
    this.route.value = chosen;
    this.routeBox.replaceChildren(h("span", { class: "route-icon" }, icon("fork")), this.route);
    this.update();
  }

  set limits(limits) {
    this.#limits = limits;
    this.#info && this.update();
  }

  set info(info) {
    this.#info = info;
    for (const option of this.route.options) {
      option.disabled = option.value !== "auto" && info !== null && !info.slots?.[option.value];
    }
    this.update();
  }

  // Whether a prompt can be taken (not in a deleted conversation).
  set canSend(canSend) {
    this.#canSend = canSend;
    this.text.readOnly = !canSend;
    this.update();
  }

  set running(isRunning) {
    if (!isRunning) yieldFocus(this.stop, this.text);
    show(this.stop, isRunning);
  }

  get draft() {
    return { text: this.text.value, route: this.route.value };
  }

  fill({ text, route }) {
    this.show({ text, route });
    this.actions.changed(this.draft);
    this.text.focus({ preventScroll: true });
  }

  // A draft that is kept already: shown, and not written again over what another tab wrote.
  show({ text, route }) {
    this.text.value = text;
    if (route) this.route.value = route;
    this.update();
  }

  // Where the prompt will go, whether it fits, whether it can be sent.
  update() {
    const { text, route } = this.draft;
    const { fill, fits, ...size } = measure(text, this.#limits);
    setText(this.count, fill < TELL_FROM ? "" : this.#sizeText(size));
    this.#tell(fill, fits);
    this.count.classList.toggle("over", !fits);
    show(this.excess, !fits);
    const ready = this.#canSend && fits && text.trim() !== "";
    this.send.setAttribute("aria-disabled", String(!ready));
    this.isReady = ready;
    const view = outlook(route === "auto" ? null : route, this.#info);
    setText(this.where, outlookText(view));
    this.routeBox.dataset.route = view.route;
    const routeIcon = { local: "house", cloud: "cloud" }[view.route] ?? "fork";
    this.routeBox.querySelector(".route-icon")?.replaceChildren(icon(routeIcon));
    if (!CSS.supports("field-sizing", "content")) {
      this.text.rows = Math.min(6, text.split("\n").length);
    }
  }

  #listen() {
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.text.addEventListener("input", () => this.#changed());
    this.route.addEventListener("change", () => this.#changed());
    this.text.addEventListener("keydown", (event) => this.#key(event));
  }

  #key(event) {
    if (event.isComposing || event.keyCode === 229) return; // Safari says 229 on the key that ends it
    if (event.key === "ArrowUp" && this.text.value === "" && isOn("editLast")) {
      event.preventDefault();
      return this.actions.editLast();
    }
    if (event.key !== "Enter" || event.shiftKey || event.altKey) return;
    if (isCoarse.matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (!event.repeat) this.#send();
  }

  #send() {
    if (!this.isReady) return;
    const { text, route } = this.draft;
    this.actions.send(text, route);
  }

  #changed() {
    this.update();
    this.actions.changed(this.draft);
  }

  // By the limit that is nearer: letters beyond ASCII take more than one byte.
  #sizeText({ characters, bytes }) {
    const { text_characters: most, frame_bytes: mostBytes } = this.#limits;
    if (characters / most >= bytes / mostBytes) return t("count", number(characters), number(most));
    return t("countBytes", number(bytes), number(mostBytes));
  }

  // At 80 % and 90 % of the limit and beyond it: not at each key.
  #tell(fill, fits) {
    const tenths = fits ? Math.min(9, Math.floor(fill * 10)) : 10;
    if (tenths > this.#told && tenths >= TELL_FROM * 10) this.actions.say(this.count.textContent);
    this.#told = tenths;
  }

  #selectExcess() {
    this.text.focus();
    this.text.setSelectionRange(longestFit(this.text.value, this.#limits), this.text.value.length);
  }
}

function outlookText({ route, slot, either }) {
  if (route !== "auto") return slot ? slotText(route, slot) : t("slotEmpty", t(`route.${route}`));
  const filled = Object.entries(either ?? {}).filter(([, one]) => one);
  if (filled.length === 1) return slotText(...filled[0]);
  return t("autoOutlook");
}

export function slotText(route, slot) {
  const { host, provider, model } = slot;
  const name = visible(model ?? provider);
  if (route === "local" && (!host || isLoopback(host))) return t("willStay", name);
  return host ? t("willGo", name, visible(host)) : t("willUse", name);
}
