// Turns of the stored history, which are older than what the log holds. Pure.

import { newTurn } from "./state.js";

// Puts them before the turns that are there. `rows` are from old to new.
export function prependHistory(state, rows) {
  const older = rows.filter((row) => !state.turns.has(row.id)).map(turnOfHistory);
  const newer = [...state.turns];
  state.turns.clear();
  for (const turn of older) state.turns.set(turn.id, turn);
  for (const [id, turn] of newer) state.turns.set(id, turn);
  return older.length;
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
