// The socket of one conversation, kept alive: a fresh ticket and a resume for each attempt.
//
// Every attempt has a generation number; what an older socket still says is not heard. A socket from
// which nothing came for two heartbeats is dead: it is replaced, and the exact resume makes that
// cheap. `navigator.onLine` is not asked: the server may be this machine.

import { afterClose, afterTicket, delay, STEADY_MS } from "../core/backoff.js";
import { frames, parse, SUBPROTOCOL } from "../core/protocol.js";

const SILENCE_EXTRA_MS = 5_000;
const WAKE_EXTRA_MS = 3_000;
const CONNECT_MS = 10_000;

export class Connection {
  status = { kind: "closed" };
  sessionId = null;
  #api;
  #hooks;
  #generation = 0;
  #socket = null;
  #resumed = false; // the snapshot has come
  #attempt = 0;
  #noResume = 0;
  #retry = null;
  #watch = null;
  #steady = null;
  #heardAt = 0;
  #heartbeatMs = 15_000;

  // hooks: resumeFrom() -> { sequence, logId, deviceId }, onSession(id), onMessage(message) -> may
  // return "gap", onStatus(status)
  constructor(api, hooks) {
    this.#api = api;
    this.#hooks = hooks;
    const wake = () => this.#wake();
    addEventListener("online", wake);
    addEventListener("pageshow", (event) => event.persisted && wake());
    document.addEventListener("visibilitychange", () => !document.hidden && wake());
  }

  get isLive() {
    return this.status.kind === "live";
  }

  // Connect to a conversation; null starts a new one.
  open(sessionId) {
    this.close();
    this.sessionId = sessionId;
    this.#attempt = 0;
    this.#connect();
  }

  close() {
    this.#drop();
    this.#tell({ kind: "closed" });
  }

  retryNow() {
    if (this.status.kind === "live" || this.status.kind === "closed") return;
    this.#drop();
    this.#connect();
  }

  // Whether the frame went out. Nothing is queued here: the outbox keeps what must not be lost.
  send(frame) {
    if (!this.isLive || this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(frame);
    return true;
  }

  // The replay does not fit what we have: start again from what we have.
  resync() {
    this.#drop();
    this.#connect();
  }

  async #connect() {
    const generation = (this.#generation += 1);
    this.#tell({ kind: "connecting", since: this.status.since ?? Date.now() });
    let ticket;
    try {
      ticket = await this.#api.ticket(this.sessionId);
    } catch (error) {
      if (generation === this.#generation) this.#failed(afterTicket(error.status), error);
      return;
    }
    if (generation !== this.#generation) return;
    if (ticket.session_id !== this.sessionId) {
      this.sessionId = ticket.session_id;
      this.#hooks.onSession(ticket.session_id);
    }
    this.#openSocket(generation, ticket.ticket);
  }

  #openSocket(generation, ticket) {
    const socket = new WebSocket(this.#api.socketAddress(), [SUBPROTOCOL, `ticket.${ticket}`]);
    this.#socket = socket;
    this.#resumed = false;
    this.#heard(CONNECT_MS);
    const current = (act) => (event) => generation === this.#generation && act(event);
    socket.onopen = current(() => {
      const { sequence, logId, deviceId } = this.#hooks.resumeFrom();
      socket.send(frames.resume(sequence, logId, deviceId));
    });
    socket.onmessage = current(({ data }) => this.#message(data));
    socket.onclose = current(({ code, reason }) => this.#closed(code, reason));
  }

  #message(data) {
    this.#heard();
    const message = parse(data);
    if (!message) return;
    if (message.type === "session.snapshot") this.#live(message.payload);
    else if (!this.#resumed) return;
    if (this.#hooks.onMessage(message) === "gap") this.resync();
  }

  #live(snapshot) {
    this.#resumed = true;
    this.#noResume = 0;
    this.#heartbeatMs = snapshot.limits.heartbeat_ms;
    clearTimeout(this.#steady);
    this.#steady = setTimeout(() => (this.#attempt = 0), STEADY_MS);
    this.#heard();
    this.#tell({ kind: "live" });
  }

  #closed(code, reason) {
    this.#noResume = code === 4401 ? this.#noResume + 1 : 0;
    this.#failed(afterClose(code, reason, { noResume: this.#noResume }), { code, reason });
  }

  #failed(what, cause) {
    const since = this.status.since ?? Date.now();
    this.#drop();
    if (what === "now" && this.#attempt < 3) {
      this.#attempt += 1; // "now" three times in a row is no "now" any more
      this.#tell({ kind: "connecting", since });
      this.#connect();
    } else if (what === "now" || what === "wait") {
      const backoff = delay(this.#attempt, { hidden: document.hidden });
      const wait = Math.max(backoff, cause.waitMs ?? 0);
      this.#attempt += 1;
      this.#retry = setTimeout(() => this.#connect(), wait);
      this.#tell({ kind: "waiting", since, nextAt: Date.now() + wait, cause });
    } else {
      this.#tell({ kind: what, cause });
    }
  }

  // Silence for too long: the other side is gone, though nothing says so.
  #heard(allowedMs = 2 * this.#heartbeatMs + SILENCE_EXTRA_MS) {
    this.#heardAt = Date.now();
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => this.#failed("wait", { code: "silence" }), allowedMs);
  }

  #wake() {
    if (this.status.kind === "waiting") return this.retryNow();
    if (!this.isLive) return;
    const silent = Date.now() - this.#heardAt;
    if (silent > this.#heartbeatMs + WAKE_EXTRA_MS) this.resync();
  }

  #drop() {
    this.#generation += 1;
    for (const timer of [this.#retry, this.#watch, this.#steady]) clearTimeout(timer);
    const socket = this.#socket;
    this.#socket = null;
    if (socket && socket.readyState <= WebSocket.OPEN) socket.close(1000);
  }

  #tell(status) {
    this.status = status;
    this.#hooks.onStatus(status);
  }
}
