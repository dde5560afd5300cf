// Tabs of one browser keep in step through a channel named by the page's path. Each has a socket of
// its own; there is no leader.

import { BASE } from "./store.js";

export class Tabs {
  #channel = new BroadcastChannel(`mead ${BASE}`);
  #asked = null;

  // handlers: { signedOut(), list(), draft(sessionId, text), prefs(), wantsToken() }
  constructor(handlers, token) {
    this.handlers = handlers;
    this.token = token;
    this.#channel.onmessage = ({ data }) => this.#hear(data);
  }

  tell(kind, details = {}) {
    this.#channel.postMessage({ kind, ...details });
  }

  // A new tab asks the others for the token; the reader of one of them has to agree.
  // `onOffer()`: one of them is being asked.
  askForToken(onToken, onOffer) {
    this.#asked = { id: crypto.randomUUID(), onToken, onOffer };
    this.tell("wantsToken", { id: this.#asked.id });
  }

  grant(id) {
    this.tell("token", { id, token: this.token() });
  }

  #hear(data) {
    if (data.kind === "token") {
      if (this.#asked?.id === data.id && data.token) this.#asked.onToken(data.token);
      this.handlers.tokenSettled?.(data.id);
      return;
    }
    if (data.kind === "tokenOffered") {
      if (this.#asked?.id === data.id) this.#asked.onOffer();
      return;
    }
    if (data.kind === "wantsToken" && !this.token()) return;
    this.handlers[data.kind]?.(data);
  }
}
