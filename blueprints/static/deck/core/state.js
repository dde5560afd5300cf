// What a conversation is made of: its state, turns, tool calls and requests to a person. Pure.

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

export function newTurn(id) {
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

export function turnOf(state, id, payload) {
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

export function requestOf(state, payload) {
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

export function callOf(state, turn, payload) {
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
