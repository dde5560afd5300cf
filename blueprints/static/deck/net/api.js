// The HTTP routes beside the deck. Every address is relative to this file, so the page works behind
// any path prefix.

import { retryAfter } from "../core/backoff.js";

const ROOT = new URL("../", import.meta.url);
const TIMEOUT_MS = 15_000;
const TICKET_TIMEOUT_MS = 8_000;

// status 0: no answer at all.
export class ApiError extends Error {
  constructor(status, code = null, waitMs = null) {
    super(code ?? `status ${status}`);
    Object.assign(this, { status, code, waitMs });
  }
}

export class Api {
  #token = () => null;
  #onUnauthorized = () => {};

  // `token`: gives the bearer token, or null. `onUnauthorized`: called when it is not taken (any more).
  constructor(token, onUnauthorized) {
    this.#token = token;
    this.#onUnauthorized = onUnauthorized;
  }

  login = (code) => this.#json("POST", "login", { code }, { token: null });
  info = (token) => this.#json("GET", "info", undefined, token === undefined ? {} : { token });
  ticket = (sessionId) =>
    this.#json("POST", "ticket", sessionId ? { session_id: sessionId } : {}, {
      timeoutMs: TICKET_TIMEOUT_MS,
    });
  sessions = () => this.#json("GET", "sessions");
  rename = (id, title) => this.#json("PATCH", `sessions/${id}`, { title });
  remove = (id) => this.#json("DELETE", `sessions/${id}`);
  stop = (id) => this.#json("POST", `sessions/${id}/stop`, {});
  usage = () => this.#json("GET", "usage");
  history(id, { limit, before }) {
    const query = new URLSearchParams({ limit, ...(before ? { before } : {}) });
    return this.#json("GET", `sessions/${id}/history?${query}`);
  }

  // The file itself: a link could not carry the token.
  async exportFile(id, format) {
    const response = await this.#fetch("GET", `sessions/${id}/export?format=${format}`);
    return response.blob();
  }

  socketAddress() {
    const address = new URL("socket", ROOT);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    return address.href;
  }

  async #json(method, path, body, options) {
    const response = await this.#fetch(method, path, body, options);
    return response.status === 204 ? null : response.json();
  }

  async #fetch(method, path, body, { token = this.#token(), timeoutMs = TIMEOUT_MS } = {}) {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(new URL(path, ROOT), {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        credentials: "omit",
        cache: "no-store",
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch {
      throw new ApiError(0);
    }
    if (response.ok) return response;
    const code = await codeOf(response);
    if (response.status === 401 && token && token === this.#token()) this.#onUnauthorized();
    throw new ApiError(response.status, code, retryAfter(response.headers.get("Retry-After")));
  }
}

async function codeOf(response) {
  try {
    const { error } = await response.json();
    return typeof error === "string" ? error : (error?.code ?? null);
  } catch {
    return null;
  }
}
