// The state of a conversation: a fold of its events. Pure, no DOM and no clock.
//
// `apply` serves live events and the replay alike. It changes the state in place (an answer of
// 200 kB has thousands of events) and returns what a view has to look at again:
// { turn: turn_id } for one turn, { head: true } for what stands around the transcript.
//
// The snapshot is the state after its last_sequence. Events up to it build only the transcript;
// later ones change queue, requests, policy, rules and title as well. (SPEC 8, Resume.)

export function newState() {
  return {
    sessionId: null,
    logId: null,
    sequence: 0, // the last one taken
    snapshotSequence: 0,
    awaiting: null, // the snapshot, until its replay has come
    hasOlder: false, // turns before the first one here are in the history
    durable: true,
    title: null,
    policyLevel: null,
    remembered: new Set(),
    limits: { frame_bytes: 65_536, text_characters: 60_000, heartbeat_ms: 15_000, queue_limit: 10 },
    turns: new Map(), // by turn_id, in the order of the transcript
    running: null, // turn_id
    queue: [], // turn_ids
    pending: new Map(), // request_id -> request
    requests: new Map(), // every request of the transcript
    calls: new Map(), // call_id -> { turnId, ... }
    clockOffset: null, // smallest (receipt - at): how far our clock is ahead, at most
  };
}

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

// A turn from the history, older than what the log holds. `rows` are from old to new.
export function prependHistory(state, rows) {
  const older = rows.filter((row) => !state.turns.has(row.id)).map(turnOfHistory);
  const newer = [...state.turns];
  state.turns.clear();
  for (const turn of older) state.turns.set(turn.id, turn);
  for (const [id, turn] of newer) state.turns.set(id, turn);
  return older.length;
}

// -- turns -----------------------------------------------------------------------------------------

function newTurn(id) {
  return {
    id,
    messageId: null,
    prompt: null, // null while it is not known
    askedRoute: null,
    origin: null,
    deviceId: null,
    acceptedAt: null,
    startedAt: null,
    endedAt: null,
    status: "queued", // running, completed, failed, cancelled (never ran)
    parts: [], // { kind: "text", text } | { kind: "call", call } | { kind: "choice", request }
    routed: null, // { route, source, reason, provider, model, host }
    reason: null, // why it failed, or why the prompt was cancelled
    message: null,
    stopReason: null,
    durationMs: null,
    tokensIn: undefined, // undefined: not told yet; null: not counted
    tokensOut: undefined,
    toolCalls: 0,
    warnings: [],
    closed: false, // both metrics are in: nothing more will come
  };
}

function turnOf(state, id, payload) {
  let turn = state.turns.get(id);
  if (!turn) state.turns.set(id, (turn = newTurn(id)));
  if (payload?.text !== undefined) {
    turn.prompt = payload.text;
    turn.messageId = payload.client_message_id;
    turn.askedRoute = payload.route ?? null;
    turn.origin = payload.origin;
    turn.deviceId = payload.device_id ?? null;
  }
  if (payload?.started_at) {
    turn.status = turn.status === "queued" ? "running" : turn.status;
    turn.startedAt ??= payload.started_at;
  }
  return turn;
}

function turnOfHistory(row) {
  const turn = newTurn(row.id);
  const ended = row.finished_at ? Date.parse(row.finished_at) - Date.parse(row.started_at) : null;
  Object.assign(turn, {
    prompt: row.input,
    acceptedAt: row.started_at,
    startedAt: row.started_at,
    endedAt: row.finished_at,
    status: row.status === "completed" || row.status === "running" ? row.status : "failed",
    parts: row.output ? [{ kind: "text", text: row.output }] : [],
    reason: row.error?.code ?? (row.status === "completed" ? null : row.status),
    message: row.error?.message ?? null,
    stopReason: row.stop_reason ?? null,
    durationMs: ended,
    tokensIn: row.usage?.input ?? null,
    tokensOut: row.usage?.output ?? null,
    toolCalls: row.tool_calls ?? 0,
    warnings: row.warnings ?? [],
    closed: true,
  });
  if (row.route) {
    turn.routed = {
      route: row.route,
      source: row.route_source,
      reason: row.route_reason,
      provider: row.provider,
      model: row.model,
      host: row.host,
    };
  }
  return turn;
}

function requestOf(state, payload) {
  let request = state.requests.get(payload.request_id);
  if (!request) {
    request = {
      id: payload.request_id,
      kind: payload.options ? "choice" : "permission",
      turnId: payload.turn_id,
      callId: payload.call_id ?? null,
      tool: payload.tool ?? null,
      risk: payload.risk ?? null,
      details: payload.details ?? null,
      prompt: payload.prompt ?? null,
      options: payload.options ?? null,
      expiresAt: payload.expires_at,
      resolved: null, // { outcome | option, device, rule, policy }
    };
    state.requests.set(request.id, request);
    const turn = turnOf(state, request.turnId);
    if (request.kind === "choice") turn.parts.push({ kind: "choice", request });
    else callOf(state, turn, payload).request = request;
  }
  request.expiresAt = payload.expires_at;
  return request;
}

function callOf(state, turn, payload) {
  let call = state.calls.get(payload.call_id);
  if (!call) {
    call = {
      id: payload.call_id,
      turnId: turn.id,
      server: null,
      tool: payload.tool ?? null,
      class: null,
      arguments: payload.details ?? null,
      startedAt: null,
      endedAt: null,
      status: null, // null while it is open
      summary: null,
      request: null,
    };
    state.calls.set(call.id, call);
    turn.parts.push({ kind: "call", call });
    turn.toolCalls += 1;
  }
  return call;
}

// -- what each event changes; true: also what stands around the transcript ---------------------------

const CHANGES = {
  "prompt.accepted"(state, payload, at, isNew) {
    const turn = turnOf(state, payload.turn_id, payload);
    turn.acceptedAt = at;
    if (isNew) state.queue.push(turn.id);
    if (isNew) state.title ??= defaultTitle(payload.text);
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

// As the server names a conversation that nobody has named (mead/deck/fold.py).
export function defaultTitle(text) {
  const words = Array.from(text).slice(0, 240).join("").split(/\s+/).filter(Boolean);
  return Array.from(words.join(" ")).slice(0, 60).join("");
}

// The part of the state that the snapshot holds too, in the snapshot's own words.
export function standing(state) {
  const prompt = (id) => {
    const turn = state.turns.get(id);
    return {
      client_message_id: turn.messageId,
      turn_id: id,
      text: turn.prompt,
      route: turn.askedRoute,
      origin: turn.origin,
      ...(turn.deviceId ? { device_id: turn.deviceId } : {}),
    };
  };
  const running = state.running && state.turns.get(state.running);
  return {
    turn: running
      ? {
          turn_id: running.id,
          client_message_id: running.messageId,
          started_at: running.startedAt,
          open_calls: running.endedAt ? [] : openCalls(running),
        }
      : null,
    queue: state.queue.map(prompt),
    policy_level: state.policyLevel,
    remembered_tools: [...state.remembered].sort(),
    pending: [...state.pending.keys()],
    title: state.title,
  };
}

const openCalls = (turn) =>
  turn.parts.filter((part) => part.kind === "call" && !part.call.status).map((part) => part.call.id);
