// How the connection is, in a word; and, when it stays away, what happens next.

import { t } from "../i18n/index.js";
import { h, setText } from "../ui/dom.js";

const TELL_AFTER_MS = 1_000;
const BANNER_AFTER_MS = 15_000;

export class Status {
  #status = { kind: "closed" };
  #timer = null;

  // actions: retry(), newFromDraft(), list()
  constructor(actions) {
    this.actions = actions;
    this.word = h("span", {});
    this.element = h("span", { class: "status", role: "status" }, h("span", { class: "dot" }), this.word);
    this.text = h("span", {});
    this.button = h("button", { type: "button", class: "small", onclick: () => this.#act() });
    this.banner = h("div", { class: "banner", hidden: true }, this.text, this.button);
  }

  set(status) {
    this.#status = status;
    this.tick();
  }

  get kind() {
    return this.#status.kind;
  }

  tick() {
    clearTimeout(this.#timer);
    const { kind, since, nextAt } = this.#status;
    const away = Date.now() - (since ?? Date.now());
    const isWaiting = kind === "connecting" || kind === "waiting";
    const shown = isWaiting ? (away < TELL_AFTER_MS ? "soon" : "reconnecting") : kind;
    this.element.dataset.kind = shown;
    setText(this.word, shown === "closed" || shown === "soon" ? "" : t(`status.${shown}`));
    const isFinal = !isWaiting && kind !== "live" && kind !== "closed" && kind !== "signin";
    this.banner.hidden = !(isFinal || (isWaiting && away >= BANNER_AFTER_MS));
    if (!this.banner.hidden) this.#fill(isFinal, nextAt);
    if (isWaiting) this.#timer = setTimeout(() => this.tick(), 500);
  }

  #fill(isFinal, nextAt) {
    const { kind, cause } = this.#status;
    if (isFinal) {
      setText(this.text, `${t(`ended.${kind}`)}${cause?.code && kind === "stop" ? ` (${cause.code})` : ""}`);
      setText(this.button, t(kind === "deleted" ? "takeDraft" : "tryNow"));
      return;
    }
    const seconds = nextAt ? Math.max(1, Math.ceil((nextAt - Date.now()) / 1000)) : 0;
    setText(this.text, seconds ? `${this.#why()} ${t("nextTry", seconds)}` : t("tryingNow"));
    setText(this.button, t("tryNow"));
  }

  #why() {
    const { cause } = this.#status;
    if (cause?.reason === "restart") return t("why.restart");
    if (cause?.status === 503) return t("why.busy");
    return t("why.unreachable");
  }

  #act() {
    if (this.#status.kind === "deleted") this.actions.newFromDraft();
    else this.actions.retry();
  }
}
