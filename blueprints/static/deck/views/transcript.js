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
const PAINT_MS = 12; // what takes longer goes on in the next frame

export class Transcript {
  #views = new Map();
  #dirty = new Set();
  #frame = null;
  #timer = null;
  #mounted = MOUNTED;
  #loading = false;
  #quiet = false; // while the replay is folded nothing is painted
  #filling = false; // complete turns wait for the next frame
  #top = Infinity; // px, where the reader was when they last came near the top

  // context: what the views need; `fetchOlder()` resolves when older turns are in the state, and
  // `olderFailed()` tells that they are not.
  constructor({ list, olderButton, context, getState, fetchOlder, olderFailed, onPainted }) {
    Object.assign(this, { list, olderButton, context, getState, fetchOlder, olderFailed, onPainted });
    olderButton.addEventListener("click", () => this.older());
  }

  set quiet(isQuiet) {
    this.#quiet = isQuiet;
    if (!isQuiet) this.all();
  }

  get isQuiet() {
    return this.#quiet;
  }

  // Whether turns that are complete are not yet shown in full.
  get isFilling() {
    return this.#filling;
  }

  // Another conversation, or the same one rebuilt.
  reset() {
    this.#views.clear();
    this.#dirty.clear();
    this.#mounted = MOUNTED;
    this.#filling = false;
    this.#top = Infinity;
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

  // What is dirty, now, but no longer than a frame: the rest follows in the next ones. Following and
  // anchoring happen in the same frame.
  paint() {
    if (this.#quiet) return;
    cancelAnimationFrame(this.#frame);
    this.#frame = null;
    const turns = this.#shownTurns();
    const wanted = turns.map((turn) => this.#viewOf(turn));
    arrange(this.list, wanted.map((view) => view.element));
    const wait = this.#update(turns);
    this.#filling = wait === 0;
    show(this.olderButton, this.#hasOlder());
    this.onPainted();
    if (wait !== null) this.#later(wait);
    if (!this.#filling) this.nearTop(this.#top);
  }

  // The newest first: that is what is read. Gives the milliseconds until the next of them is due.
  #update(turns) {
    const end = performance.now() + PAINT_MS;
    const dirty = turns.filter(({ id }) => this.#dirty.has(id)).reverse();
    this.#dirty = new Set(dirty.map(({ id }) => id));
    let wait = null;
    for (const { id } of dirty) {
      if (performance.now() > end) return 0;
      const left = this.#views.get(id).update();
      if (left === null) this.#dirty.delete(id);
      else wait = Math.min(wait ?? Infinity, left);
    }
    return wait;
  }

  async older() {
    if (this.#loading || this.#quiet || !this.#hasOlder()) return;
    this.#loading = true;
    const known = this.#allTurns().length;
    if (known - this.#mounted < STEP && this.getState().hasOlder) await this.fetchOlder().catch(() => this.olderFailed());
    this.#mounted += STEP;
    this.#loading = false;
    this.all();
  }

  // Asked again once everything is shown: before that, the top is not where it will be.
  nearTop(scrollTop) {
    this.#top = this.#filling ? scrollTop : Infinity;
    if (!this.#filling && scrollTop < AHEAD_PX && this.#hasOlder()) this.older();
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
    if (ms === 0) this.#schedule();
    else this.#timer = setTimeout(() => this.#schedule(), ms);
  }
}

export function olderButton() {
  return h("button", { type: "button", class: "quiet older", hidden: true }, t("older"));
}
