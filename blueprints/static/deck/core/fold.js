// The state of a conversation: a fold of its events. Pure, no DOM and no clock.
//
// `apply` serves live events and the replay alike. It changes the state in place (an answer of
// 200 kB has thousands of events) and returns what a view has to look at again:
// { turn: turn_id } for one turn, { head: true } for what stands around the transcript.
//
// The snapshot is the state after its last_sequence. Events up to it build only the transcript;
// later ones change queue, requests, policy, rules and title as well. (SPEC 8, Resume.)

import { callOf, requestOf, turnOf } from "./state.js";

const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}]/gu;
const UNSEEN = /(?![\u200c\u200d])[\p{Cf}\p{Cs}]/gu;

// The answer to session.resume. `rebuild` tells that what was shown is not what follows.
export function applySnapshot(state, payload) {
  const known = state.logId !== null;
  const rebuild = payload.reset || (payload.gap && known);
  if (rebuild) forgetTranscript(state);
  if (payload.gap || payload.reset) state.sequence = payload.first_sequence - 1;
  if (payload.gap) state.hasOlder = true;
  if (payload.first_sequence > 1) state.hasOlder = true;
  Object.assign(state, {
    sessionId: payload.session_id,
    logId: payload.log_id,
    snapshotSequence: payload.last_sequence,
    durable: payload.durable,
    title: payload.title ?? null,
    policyLevel: payload.policy_level,
    remembered: new Set(payload.remembered_tools),
    limits: payload.limits,
    running: payload.turn?.turn_id ?? null,
    queue: payload.queue.map((prompt) => prompt.turn_id),
    pending: new Map(),
    awaiting: payload,
  });
  completeSnapshot(state);
  return { rebuild };
}

// Once the replay has built the transcript, in its order: what the snapshot names and the log no
// longer holds is added, and its requests are those that wait.
function completeSnapshot(state) {
  const payload = state.awaiting;
  if (payload === null || state.sequence < state.snapshotSequence) return;
  state.awaiting = null;
  if (payload.turn) turnOf(state, payload.turn.turn_id, payload.turn);
  for (const prompt of payload.queue) turnOf(state, prompt.turn_id, prompt);
  for (const request of payload.pending) {
    const entry = requestOf(state, request);
    entry.resolved = null;
    state.pending.set(request.request_id, entry);
  }
}

function forgetTranscript(state) {
  for (const name of ["turns", "requests", "calls"]) state[name].clear();
  state.hasOlder = false;
  state.sequence = 0;
}

// Take the next event. Returns null for one that was taken before, "gap" if one is missing.
export function apply(state, event) {
  if (event.sequence <= state.sequence) return null;
  if (event.sequence !== state.sequence + 1) return "gap";
  state.sequence = event.sequence;
  const change = CHANGES[event.type];
  const isNew = event.sequence > state.snapshotSequence;
  const head = change?.(state, event.payload, event.at, isNew) === true && isNew;
  completeSnapshot(state);
  const turnId = event.payload.turn_id ?? state.requests.get(event.payload.request_id)?.turnId;
  return { turn: turnId ?? null, head };
}

// -- what each event changes; true: also what stands around the transcript ---------------------------

const CHANGES = {
  "prompt.accepted"(state, payload, at, isNew) {
    const turn = turnOf(state, payload.turn_id, payload);
    turn.acceptedAt = at;
    if (isNew) state.queue.push(turn.id);
    if (isNew) state.title ??= defaultTitle(payload.text) || null;
    return true;
  },
  "prompt.cancelled"(state, payload, at, isNew) {
    const turn = turnOf(state, payload.turn_id);
    Object.assign(turn, { status: "cancelled", reason: payload.reason, endedAt: at, closed: true });
    if (isNew) state.queue = state.queue.filter((id) => id !== turn.id);
    return true;
  },
  "turn.started"(state, payload, at, isNew) {
    const turn = turnOf(state, payload.turn_id);
    Object.assign(turn, { status: "running", startedAt: at });
    if (isNew) {
      state.queue = state.queue.filter((id) => id !== turn.id);
      state.running = turn.id;
    }
    return true;
  },
  "turn.routed"(state, payload) {
    turnOf(state, payload.turn_id).routed = {
      route: payload.route,
      source: payload.route_source,
      reason: payload.reason,
      provider: payload.provider,
      model: payload.model,
      host: payload.host,
    };
  },
  "text.delta"(state, payload) {
    const { parts } = turnOf(state, payload.turn_id);
    const last = parts.at(-1);
    if (last?.kind === "text") last.text += payload.text;
    else parts.push({ kind: "text", text: payload.text });
  },
  "tool_call.started"(state, payload, at) {
    const call = callOf(state, turnOf(state, payload.turn_id), payload);
    call.server = payload.server;
    call.tool = payload.tool;
    call.class = payload.class;
    call.arguments = payload.arguments;
    call.startedAt = at;
  },
  "tool_call.finished"(state, payload, at) {
    const call = callOf(state, turnOf(state, payload.turn_id), payload);
    Object.assign(call, { status: payload.status, summary: payload.summary, endedAt: at });
  },
  "permission.requested": requested,
  "choice.requested": requested,
  "permission.resolved"(state, payload, at, isNew) {
    if (isNew && payload.remember) state.remembered.add(payload.remember);
    const call = state.calls.get(state.requests.get(payload.request_id)?.callId);
    if (call) call.startedAt = at; // the time that a person took is not the tool's
    return resolved(state, payload, isNew);
  },
  "choice.resolved": (state, payload, at, isNew) => resolved(state, payload, isNew),
  "request.extended"(state, payload) {
    const request = state.requests.get(payload.request_id);
    if (request) request.expiresAt = payload.expires_at;
    return true;
  },
  "permission.forgotten"(state, payload, at, isNew) {
    if (isNew) state.remembered.delete(payload.tool);
    return true;
  },
  "policy.updated"(state, payload, at, isNew) {
    if (isNew) state.policyLevel = payload.level;
    return true;
  },
  "session.titled"(state, payload, at, isNew) {
    if (isNew) state.title = payload.title;
    return true;
  },
  "turn.completed"(state, payload, at, isNew) {
    const turn = turnOf(state, payload.turn_id);
    turn.status = "completed";
    turn.stopReason = payload.stop_reason;
    turn.durationMs = payload.duration_ms;
    return ended(state, turn, at, isNew);
  },
  "turn.failed"(state, payload, at, isNew) {
    const turn = turnOf(state, payload.turn_id);
    Object.assign(turn, { status: "failed", reason: payload.reason, message: payload.message });
    return ended(state, turn, at, isNew);
  },
  "metric.updated"(state, payload, at, isNew) {
    const turn = turnOf(state, payload.turn_id);
    if (payload.name === "tokens_in") turn.tokensIn = payload.value;
    if (payload.name !== "tokens_out") return false;
    turn.tokensOut = payload.value;
    turn.closed = true;
    if (isNew && state.running === turn.id) state.running = null;
    return true;
  },
};

function requested(state, payload, at, isNew) {
  const request = requestOf(state, payload);
  if (isNew) state.pending.set(request.id, request);
  return true;
}

function resolved(state, payload, isNew) {
  const request = state.requests.get(payload.request_id);
  if (request) {
    request.resolved = {
      outcome: payload.outcome ?? null,
      option: payload.option ?? null,
      device: payload.decided_by_device ?? null,
      rule: payload.decided_by_rule ?? null,
      policy: payload.decided_by_policy ?? null,
    };
  }
  if (isNew) state.pending.delete(payload.request_id);
  return true;
}

function ended(state, turn, at, isNew) {
  turn.endedAt = at;
  if (isNew) {
    for (const [id, request] of state.pending) {
      if (request.turnId === turn.id) state.pending.delete(id);
    }
  }
  return true;
}

// As the server names a conversation that nobody has named (mead/deck/naming.py).
export function defaultTitle(text) {
  const start = Array.from(text).slice(0, 240).join("");
  const seen = start.replace(BREAKS, " ").replace(UNSEEN, "");
  return Array.from(seen.split(/\s+/).filter(Boolean).join(" ")).slice(0, 60).join("").trimEnd();
}
