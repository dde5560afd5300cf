// All requests to a person together: the cards, the bar, the countdown, the way to them and back.

import { visible } from "../core/text.js";
import { clock, t } from "../i18n/index.js";
import { personNeeded } from "../ui/notify.js";
import { Dock } from "./dock.js";
import { remaining, toolName } from "./request.js";

const SPOKEN_AT_S = [30, 10];
const GRACE_MS = 250; // what a rule or the policy decides is decided by then

export class Requests {
  #cards = new Map(); // request_id -> RequestCard
  #spoken = new Map(); // request_id -> seconds at which the countdown was told
  #seen = new Set(); // request_ids
  #asked = new Set(); // those of them that a person is asked
  #cameFrom = null;

  // `conversation`; `shell`, which says aloud; `edit(turn)`; `composer()`, where the focus goes when
  // there is nothing else; `scroll()`; `changed(turnId)`: a person is asked now.
  constructor({ conversation, shell, edit, composer, scroll, changed }) {
    Object.assign(this, { conversation, shell, composer, scroll, changed });
    // What the cards of the transcript may ask and do.
    this.context = {
      isLive: () => conversation.isLive,
      isPending: (id) => conversation.state.pending.has(id),
      isAsked: (id) => this.#asked.has(id) && conversation.state.pending.has(id),
      routed: (turnId) => conversation.state.turns.get(turnId)?.routed ?? null,
      now: () => Date.now() - (conversation.state.clockOffset ?? 0),
      deviceIsHere: conversation.deviceIsHere,
      timeLeft: (request) => remaining(request, conversation.state.clockOffset),
      register: (card) => this.#cards.set(card.request.id, card),
      answer: (request, answer) => this.#respond(request, () => conversation.answer(request, answer)),
      choose: (request, option) => this.#respond(request, () => conversation.choose(request, option)),
      extend: conversation.extend,
      cancelCall: conversation.cancelCall,
      edit,
    };
    this.dock = new Dock({ ...this.context, show: (request) => this.#show(request) }, composer);
  }

  // The transcript begins anew, with new cards.
  forget() {
    this.#cards.clear();
  }

  // Those that wait for a person, oldest first.
  get waiting() {
    return this.conversation.requests().filter(({ id }) => this.#asked.has(id));
  }

  // Something about the requests has changed. Gives those that wait.
  update(title) {
    for (const request of this.conversation.requests()) this.#notice(request);
    const { waiting } = this;
    this.dock.update(waiting);
    for (const card of this.#cards.values()) card.update();
    personNeeded(waiting, title);
    return waiting;
  }

  // The connection came or went. An answer that was on its way is not known to have arrived.
  connectionChanged(isLive) {
    for (const card of this.#cards.values()) {
      if (!isLive) card.sent = false;
      card.update();
    }
    this.dock.update(this.waiting);
  }

  // Each second.
  tick() {
    for (const request of this.waiting) this.#sayCountdown(request);
    for (const card of this.#cards.values()) if (card.isOpen) card.tick();
    this.dock.tick();
    this.check();
  }

  // After whatever may have moved them: a card that moved is not heard for a moment.
  check() {
    for (const { isOpen, armed } of this.#cards.values()) if (isOpen) armed.check();
    this.dock.armed.check();
  }

  scrolled(isByReader) {
    for (const { isOpen, armed } of this.#cards.values()) {
      if (isOpen) isByReader ? armed.moveAlong() : armed.check();
    }
  }

  // Every tool call has a request, and most are decided in the same moment: only one that stays is
  // told, and gets a card with buttons. So does one that waited when the conversation was opened.
  #notice(request) {
    if (this.#seen.has(request.id)) return;
    this.#seen.add(request.id);
    setTimeout(() => {
      if (!this.context.isPending(request.id)) return;
      this.#asked.add(request.id);
      this.#announce(request);
      this.changed(request.turnId);
    }, GRACE_MS);
  }

  #announce(request) {
    const about = request.kind === "choice"
      ? visible(request.prompt)
      : t("wantsToRun", visible(toolName(request)), request.risk === "high");
    this.shell.warn(`${t("needsYou")}: ${about}`);
  }

  // To the oldest, and back to where one came from.
  goTo() {
    const [first] = this.waiting;
    const card = first && this.#cards.get(first.id);
    if (!card) return;
    if (card.element.contains(document.activeElement)) {
      (this.#cameFrom?.isConnected ? this.#cameFrom : this.composer()).focus();
      return;
    }
    this.#cameFrom = document.activeElement;
    this.#show(first);
  }

  #respond(request, send) {
    if (send()) this.#cards.get(request.id)?.markSent(true);
  }

  #show(request) {
    const card = this.#cards.get(request.id);
    if (!card) return;
    this.scroll().showWhole(card.element.closest(".card") ?? card.element);
    card.element.focus({ preventScroll: true });
  }

  #sayCountdown(request) {
    const seconds = Math.ceil(this.context.timeLeft(request) / 1000);
    const mark = SPOKEN_AT_S.findLast((each) => seconds <= each);
    if (mark === undefined || seconds === 0 || this.#spoken.get(request.id) === mark) return;
    this.#spoken.set(request.id, mark);
    this.shell.warn(t("timeLeft", clock(seconds * 1000)));
  }
}
