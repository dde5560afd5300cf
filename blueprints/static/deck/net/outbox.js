// Every sent prompt, under its client_message_id, until the server has accepted or rejected it.
//
// A prompt is sent again after each resume (the server knows its id, so it runs once). One that is
// old, or that was sent by a page that is gone, is not sent by itself: the reader is asked.

import { newId } from "../core/protocol.js";
import { kept } from "./store.js";

const OLD_MS = 10 * 60_000;

export class Outbox {
  #entries = []; // { id, sessionId, text, route, at, asks }
  #load; // which page load an entry is of

  constructor(loadId) {
    this.#load = loadId;
    this.#entries = kept.get("outbox", []);
  }

  add(sessionId, text, route) {
    const entry = { id: newId(), sessionId, text, route, at: Date.now(), load: this.#load };
    this.#change([...this.#fresh(), entry]);
    return entry;
  }

  // What is to be sent now, and what the reader is asked about.
  of(sessionId) {
    const mine = this.#fresh().filter((entry) => entry.sessionId === sessionId);
    const asks = (entry) => entry.load !== this.#load || Date.now() - entry.at > OLD_MS;
    return { ready: mine.filter((entry) => !asks(entry)), asking: mine.filter(asks) };
  }

  // The conversation that a first prompt was written for has got its id.
  adopt(sessionId) {
    this.#change(
      this.#fresh().map((entry) =>
        entry.sessionId === null && entry.load === this.#load ? { ...entry, sessionId } : entry,
      ),
    );
  }

  // The reader said: send it.
  renew(id) {
    this.#change(
      this.#fresh().map((entry) =>
        entry.id === id ? { ...entry, at: Date.now(), load: this.#load } : entry,
      ),
    );
    return this.#entries.find((entry) => entry.id === id);
  }

  // It may have been what the server did not want to hear: the reader is asked.
  doubt(sessionId) {
    this.#change(
      this.#fresh().map((entry) =>
        entry.sessionId === sessionId && entry.load === this.#load ? { ...entry, load: null } : entry,
      ),
    );
  }

  // Accepted, rejected or discarded. Gives what it was.
  settle(id) {
    const entry = this.#fresh().find((one) => one.id === id) ?? null;
    if (entry) this.#change(this.#entries.filter((one) => one.id !== id));
    return entry;
  }

  // Other tabs write to the same place; what they added must not be lost.
  #fresh() {
    this.#entries = kept.get("outbox", this.#entries);
    return this.#entries;
  }

  #change(entries) {
    this.#entries = entries;
    kept.set("outbox", entries);
  }
}
