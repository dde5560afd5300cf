// What was typed and not sent, per conversation ("new" before there is one). Nothing typed is lost
// by a reload, a sign-out or a second tab.

import { kept } from "./store.js";

const MOST = 50;
const AFTER_MS = 300;

export class Drafts {
  #timer = null;
  #waiting = null;

  constructor(onChange = () => {}) {
    this.onChange = onChange;
    addEventListener("pagehide", () => this.flush());
  }

  read(sessionId) {
    return kept.get("drafts", {})[sessionId ?? "new"] ?? { text: "", route: "auto" };
  }

  // Written a little later, and when the page goes.
  keep(sessionId, draft) {
    if (this.#waiting && this.#waiting[0] !== sessionId) this.flush();
    this.#waiting = [sessionId, draft];
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), AFTER_MS);
  }

  clear(sessionId) {
    this.keep(sessionId, { ...this.read(sessionId), text: "" });
    this.flush();
  }

  // The conversation has got its id.
  move(sessionId) {
    this.flush();
    const all = kept.get("drafts", {});
    if (!all.new) return;
    all[sessionId] = all.new;
    delete all.new;
    kept.set("drafts", all);
  }

  // Writes what waits.
  flush() {
    clearTimeout(this.#timer);
    if (!this.#waiting) return;
    const [sessionId, { text, route }] = this.#waiting;
    this.#waiting = null;
    const all = kept.get("drafts", {});
    const name = sessionId ?? "new";
    delete all[name]; // the newest stands last
    if (text || route !== "auto") all[name] = { text, route };
    kept.set("drafts", Object.fromEntries(Object.entries(all).slice(-MOST)));
    this.onChange(sessionId, text);
  }
}
