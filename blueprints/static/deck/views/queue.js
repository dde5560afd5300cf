// What waits: prompts behind the running turn, and prompts that may not have arrived.

import { visible } from "../core/text.js";
import { t } from "../i18n/index.js";
import { arrange, h, yieldFocus } from "../ui/dom.js";

export class Queue {
  #rows = new Map(); // by a key that tells the kind too

  // actions: cancel(turn), edit(turn), resend(entry), discard(entry)
  constructor(actions, fallback) {
    Object.assign(this, { actions, fallback });
    this.list = h("ol", { class: "queue" });
    this.element = h("section", { class: "queue-box", hidden: true }, this.list);
  }

  // `turns`: queued ones; `unsent`: of the outbox, { ready, asking }.
  update(turns, { ready, asking }) {
    const rows = [
      ...turns.map((turn) => this.#row(`q${turn.id}`, () => this.#queued(turn))),
      ...ready.map((entry) => this.#row(`s${entry.id}`, () => this.#sending(entry))),
      ...asking.map((entry) => this.#row(`a${entry.id}`, () => this.#asking(entry))),
    ];
    const wanted = rows.map(([, row]) => row);
    const keys = new Set(rows.map(([key]) => key));
    for (const [key, row] of this.#rows) {
      if (keys.has(key)) continue;
      yieldFocus(row, this.fallback());
      this.#rows.delete(key);
    }
    arrange(this.list, wanted);
    this.element.hidden = wanted.length === 0;
    this.list.setAttribute("aria-label", t("queued"));
  }

  retranslate() {
    this.#rows.clear();
    this.list.replaceChildren();
  }

  #row(key, make) {
    if (!this.#rows.has(key)) this.#rows.set(key, make());
    return [key, this.#rows.get(key)];
  }

  #queued(turn) {
    const { cancel, edit } = this.actions;
    return row(t("queued"), turn.prompt ?? "", [
      [t("edit"), () => edit(turn)],
      [t("cancel"), () => cancel(turn)],
    ]);
  }

  #sending(entry) {
    return row(t("sending"), entry.text, []);
  }

  #asking(entry) {
    const { resend, discard } = this.actions;
    return row(t("notSent"), entry.text, [
      [t("send"), () => resend(entry)],
      [t("discard"), () => discard(entry)],
    ]);
  }
}

function row(state, text, buttons) {
  return h(
    "li",
    {},
    h("span", { class: "chip plain" }, state),
    h("span", { class: "queue-text", dir: "auto" }, visible(text)),
    ...buttons.map(([label, act]) => h("button", { type: "button", class: "quiet small", onclick: act }, label)),
  );
}
