// The open conversation: its state, its socket, and what the views are told of both.

import { apply, applySnapshot } from "./core/fold.js";
import { prependHistory } from "./core/history.js";
import { frames, newId } from "./core/protocol.js";
import { openRequests, textOf } from "./core/select.js";
import { newState } from "./core/state.js";
import { Connection } from "./net/connection.js";
import { Outbox } from "./net/outbox.js";
import { kept } from "./net/store.js";

const HISTORY_STEP = 30;

export class Conversation {
  state = newState();
  #replayTo = 0; // nothing is painted before this sequence
  #browser;

  // view: snapshot({ rebuild }), replayed(), turn(turnId), head(), status(status), session(id),
  // accepted(messageId), rejected(entry, reason), refused(reason), spoken(turnId, isOver), away()
  constructor(api, view) {
    Object.assign(this, { api, view });
    this.#browser = kept.get("browser") ?? newId().slice(0, 12);
    kept.set("browser", this.#browser);
    const load = newId().slice(0, 12);
    this.deviceId = `${this.#browser}-${load}`;
    this.outbox = new Outbox(load);
    this.connection = new Connection(api, {
      resumeFrom: () => ({
        sequence: this.state.sequence,
        logId: this.state.logId,
        deviceId: this.deviceId,
      }),
      onSession: (id) => this.#session(id),
      onMessage: (message) => this.#message(message),
      onStatus: (status) => this.#statusChanged(status),
    });
  }

  get sessionId() {
    return this.connection.sessionId;
  }

  get isLive() {
    return this.connection.isLive;
  }

  deviceIsHere = (device) => device === this.deviceId || device.startsWith(`${this.#browser}-`);

  // Null: an empty page; the conversation begins with the first prompt, which may wait already.
  open(sessionId) {
    this.state = newState();
    this.#replayTo = 0;
    if (sessionId || this.outbox.of(null).ready.length) this.connection.open(sessionId);
    else {
      this.connection.close();
      this.connection.sessionId = null;
    }
  }

  // -- what the reader does ------------------------------------------------------------------------

  send(text, route) {
    this.#deliver(this.outbox.add(this.sessionId, text, route === "auto" ? null : route));
  }

  resend(id) {
    const entry = this.outbox.renew(id);
    if (entry) this.#deliver(entry);
  }

  // On a page without a conversation it connects first, and goes out with the rest of the outbox.
  #deliver(entry) {
    if (this.connection.status.kind === "closed") this.connection.open(this.sessionId);
    else this.connection.send(frames.prompt(entry));
  }

  unsent() {
    return this.outbox.of(this.sessionId);
  }

  stop() {
    const { running } = this.state;
    return running !== null && this.#now(frames.cancelTurn(running));
  }

  cancelPrompt = (turn) => this.#now(frames.cancelPrompt(turn.messageId));
  cancelCall = (callId) => this.#now(frames.cancelCall(callId));
  answer = (request, answer) => this.connection.send(frames.answer(request.id, answer));
  choose = (request, option) => this.connection.send(frames.choose(request.id, option));
  extend = (request) => this.#now(frames.extend(request.id));
  forget = (tool) => this.#now(frames.forget(tool));
  policy = (level) => this.#now(frames.policy(level));

  requests = () => openRequests(this.state);

  // Whether it went out. Nothing of this is kept for later: by then it may mean something else.
  #now(frame) {
    const isOut = this.connection.send(frame);
    if (!isOut) this.view.away();
    return isOut;
  }

  async fetchOlder() {
    const { state } = this;
    const first = firstRun(state);
    const { turns, next_before: next } = await this.api.history(this.sessionId, {
      limit: HISTORY_STEP,
      before: first,
    });
    // Meanwhile another conversation was opened, or this one was rebuilt: they belong nowhere.
    if (this.state !== state || firstRun(state) !== first) return;
    prependHistory(state, turns.filter((turn) => turn.status !== "running"));
    state.hasOlder = Boolean(next);
  }

  // -- what the server says ------------------------------------------------------------------------

  #session(id) {
    this.outbox.adopt(id);
    this.view.session(id);
  }

  #message(message) {
    if (message.at) this.#noteClock(message.at);
    switch (message.type) {
      case "session.snapshot":
        return this.#snapshot(message.payload);
      case "heartbeat":
        return undefined;
      case "prompt.rejected":
        return this.view.rejected(this.outbox.settle(message.payload.client_message_id), message.payload.reason);
      case "frame.rejected":
        return this.#refused(message.payload);
      default:
        return message.sequence ? this.#event(message) : undefined;
    }
  }

  #snapshot(payload) {
    const { rebuild } = applySnapshot(this.state, payload);
    this.#replayTo = payload.last_sequence;
    this.view.snapshot({ rebuild });
    if (this.state.sequence >= this.#replayTo) this.#caughtUp();
    return undefined;
  }

  // What was sent and not answered goes out again now: the replay has settled the rest.
  #caughtUp() {
    this.#replayTo = -1;
    this.view.replayed();
    for (const entry of this.unsent().ready) this.connection.send(frames.prompt(entry));
  }

  #event(event) {
    if (event.type === "prompt.accepted") this.#accepted(event.payload.client_message_id);
    const change = apply(this.state, event);
    if (change === "gap") return "gap";
    if (change === null) return undefined;
    if (this.#replayTo >= 0) {
      if (this.state.sequence >= this.#replayTo) this.#caughtUp();
      return undefined;
    }
    this.view.turn(change.turn);
    if (change.head) this.view.head(event);
    if (event.type === "text.delta") this.view.spoken(change.turn, false);
    if (event.type === "turn.completed" || event.type === "turn.failed") this.view.spoken(change.turn, true);
    return undefined;
  }

  #accepted(messageId) {
    if (this.outbox.settle(messageId)) this.view.accepted(messageId);
  }

  #refused({ reason, type, id }) {
    if (type !== "prompt.send" || !id) return this.view.refused(reason, type);
    if (reason === "already_finished") return this.#accepted(id);
    return this.view.rejected(this.outbox.settle(id), reason);
  }

  // What the server has refused to hear is not said again by itself.
  #statusChanged(status) {
    if (status.kind === "stop") this.outbox.doubt(this.sessionId);
    this.view.status(status);
  }

  // The smallest difference ever seen is the least delayed: how far our clock is ahead.
  #noteClock(at) {
    const offset = Date.now() - Date.parse(at);
    const { state } = this;
    if (state.sequence < this.#replayTo) return; // the replay is old
    state.clockOffset = Math.min(state.clockOffset ?? Infinity, offset);
  }

  textOf = (turnId) => textOf(this.state.turns.get(turnId));
}

// A prompt that never ran is in no history, so nothing stands before it there.
const firstRun = (state) => [...state.turns.values()].find((turn) => turn.startedAt !== null)?.id ?? null;
