// The turns, keyed by id: finished ones are never rebuilt. The newest are mounted; older ones come
// when the reader scrolls up to them, from memory first and then from the history.

import { textOf } from "../core/select.js";
import { t } from "../i18n/index.js";
import { arrange, h, show } from "../ui/dom.js";
import { TurnView } from "./turn.js";

const MOUNTED = 60;
const MOUNTED_CHARACTERS = 400_000;
const STEP = 30;
const AHEAD_PX = 600;

export class Transcript {
  #views = new Map();
  #dirty = new Set();
  #frame = null;
  #timer = null;
  #mounted = MOUNTED;
  #loading = false;
  #quiet = false; // while the replay is folded nothing is painted

  // context: what the views need; `fetchOlder()` resolves when older turns are in the state.
  constructor({ list, olderButton, context, getState, fetchOlder, onPainted }) {
    Object.assign(this, { list, olderButton, context, getState, fetchOlder, onPainted });
    olderButton.addEventListener("click", () => this.older());
  }

  set quiet(isQuiet) {
    this.#quiet = isQuiet;
    if (!isQuiet) this.all();
  }

  get isQuiet() {
    return this.#quiet;
  }

  // Another conversation, or the same one rebuilt.
  reset() {
    this.#views.clear();
    this.#dirty.clear();
    this.#mounted = MOUNTED;
    this.list.replaceChildren();
    show(this.olderButton, false);
  }

  touch(turnId) {
    if (turnId) this.#dirty.add(turnId);
    this.#schedule();
  }

  all() {
    for (const turn of this.#shownTurns()) this.#dirty.add(turn.id);
    this.paint();
  }

  // Everything that is dirty, now. Following and anchoring happen in the same frame.
  paint() {
    if (this.#quiet) return;
    cancelAnimationFrame(this.#frame);
    this.#frame = null;
    const turns = this.#shownTurns();
    const wanted = turns.map((turn) => this.#viewOf(turn));
    arrange(this.list, wanted.map((view) => view.element));
    const ids = new Set(turns.map((turn) => turn.id));
    let wait = null;
    for (const id of [...this.#dirty]) {
      this.#dirty.delete(id);
      if (!ids.has(id)) continue;
      const left = this.#views.get(id).update();
      if (left === null) continue;
      this.#dirty.add(id);
      wait = Math.min(wait ?? Infinity, left);
    }
    show(this.olderButton, this.#hasOlder());
    this.onPainted();
    if (wait !== null) this.#later(wait);
  }

  async older() {
    if (this.#loading || this.#quiet || !this.#hasOlder()) return;
    this.#loading = true;
    const known = this.#allTurns().length;
    if (known - this.#mounted < STEP && this.getState().hasOlder) await this.fetchOlder().catch(() => {});
    this.#mounted += STEP;
    this.#loading = false;
    this.all();
  }

  nearTop(scrollTop) {
    if (scrollTop < AHEAD_PX && this.#hasOlder()) this.older();
  }

  // Each second, for what tells how long it has run.
  tick() {
    for (const view of this.#views.values()) view.tick();
  }

  // Turns far above are dropped while the reader follows the newest.
  trim() {
    if (this.#mounted > MOUNTED) {
      this.#mounted = MOUNTED;
      this.touch(null);
    }
  }

  elementOf(turnId) {
    return this.#views.get(turnId)?.element ?? null;
  }

  #viewOf(turn) {
    let view = this.#views.get(turn.id);
    if (!view || view.turn !== turn) {
      view = new TurnView(turn, this.context);
      this.#views.set(turn.id, view);
      this.#dirty.add(turn.id);
    }
    return view;
  }

  // Queued prompts stand above the composer until they start; one that never ran leaves no trace.
  #allTurns() {
    return [...this.getState().turns.values()].filter(
      (turn) => turn.status !== "queued" && turn.status !== "cancelled",
    );
  }

  #shownTurns() {
    const turns = this.#allTurns();
    let at = turns.length;
    let characters = 0;
    while (at > 0 && turns.length - at < this.#mounted) {
      characters += textOf(turns[at - 1]).length;
      if (characters > MOUNTED_CHARACTERS && at < turns.length && this.#mounted === MOUNTED) break;
      at -= 1;
    }
    return turns.slice(at);
  }

  #hasOlder() {
    const state = this.getState();
    return this.#allTurns().length > this.list.childElementCount || state.hasOlder;
  }

  #schedule() {
    if (this.#quiet || this.#frame !== null) return;
    this.#frame = requestAnimationFrame(() => this.paint());
  }

  #later(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#schedule(), ms);
  }
}

export function olderButton() {
  return h("button", { type: "button", class: "quiet older", hidden: true }, t("older"));
}
