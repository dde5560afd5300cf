import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { apply, applySnapshot, defaultTitle } from "../../../blueprints/static/deck/core/fold.js";
import { prependHistory } from "../../../blueprints/static/deck/core/history.js";
import { newState } from "../../../blueprints/static/deck/core/state.js";
import { standing } from "./standing.mjs";

const AT = "2026-11-30T14:00:00.000Z";

function snapshot(change = {}) {
  return {
    session_id: "s", log_id: "log", first_sequence: 1, last_sequence: 0, reset: false, gap: false,
    durable: true, turn: null, queue: [], policy_level: "ask_for_risky", remembered_tools: [],
    pending: [], title: null, limits: { heartbeat_ms: 1 }, ...change,
  };
}

const STORY = [
  ["prompt.accepted", { client_message_id: "m1", turn_id: "t1", text: " one\n two ", route: null, origin: "deck", device_id: "d" }],
  ["turn.started", { turn_id: "t1" }],
  ["prompt.accepted", { client_message_id: "m2", turn_id: "t2", text: "later", route: "cloud", origin: "mcp" }],
  ["turn.routed", { turn_id: "t1", route: "local", route_source: "classified", reason: "r", provider: "p", model: "m", host: null }],
  ["text.delta", { turn_id: "t1", text: "I will" }],
  ["text.delta", { turn_id: "t1", text: " write." }],
  ["tool_call.started", { turn_id: "t1", call_id: "c1", server: "files", tool: "write", class: "effect", arguments: { a: 1 } }],
  ["permission.requested", { request_id: "r1", turn_id: "t1", call_id: "c1", tool: "files__write", risk: "high", details: { a: 1 }, expires_at: AT }],
  ["request.extended", { request_id: "r1", expires_at: "2026-11-30T14:02:00.000Z", device_id: "d" }],
  ["permission.resolved", { request_id: "r1", outcome: "allow_always", decided_by_device: "d", remember: "files__write" }],
  ["tool_call.finished", { turn_id: "t1", call_id: "c1", status: "ok", summary: "done" }],
  ["text.delta", { turn_id: "t1", text: "Done." }],
  ["choice.requested", { request_id: "r2", turn_id: "t1", prompt: "Which?", options: ["a", "b"], expires_at: AT }],
  ["choice.resolved", { request_id: "r2", option: "b", decided_by_device: "d" }],
  ["policy.updated", { level: "allow_all", device_id: "d" }],
  ["session.titled", { title: "Mine", device_id: "d" }],
  ["turn.completed", { turn_id: "t1", stop_reason: "end_turn", duration_ms: 12 }],
  ["metric.updated", { turn_id: "t1", name: "tokens_in", value: 4 }],
  ["metric.updated", { turn_id: "t1", name: "tokens_out", value: null }],
  ["prompt.cancelled", { client_message_id: "m2", turn_id: "t2", reason: "by_person" }],
].map(([type, payload], at) => ({ type, payload, sequence: at + 1, at: AT }));

function folded(events, first = snapshot()) {
  const state = newState();
  applySnapshot(state, first);
  for (const event of events) assert.notEqual(apply(state, event), "gap");
  return state;
}

test("a turn is told in the order in which things happened", () => {
  const turn = folded(STORY).turns.get("t1");
  assert.deepEqual(
    turn.parts.map((part) => part.text ?? part.call?.tool ?? part.request.prompt),
    ["I will write.", "write", "Done.", "Which?"],
  );
  assert.equal(turn.status, "completed");
  assert.equal(turn.tokensIn, 4);
  assert.equal(turn.tokensOut, null);
  assert.ok(turn.closed);
  assert.equal(turn.parts[1].call.request.resolved.outcome, "allow_always");
});

test("a conversation that nobody has named is called as the server calls it", () => {
  assert.equal(defaultTitle(" how\u2028are\u001b[2K\u202eyou\ufeff"), "how are [2Kyou");
  assert.equal(defaultTitle("👩\u200d👧 " + "x".repeat(99)), "👩\u200d👧 " + "x".repeat(56));
});

test("what stands around the transcript follows the events", () => {
  const half = folded(STORY.slice(0, 9));
  assert.equal(half.running, "t1");
  assert.deepEqual(half.queue, ["t2"]);
  assert.equal(half.title, "one two");
  assert.equal(half.pending.get("r1").expiresAt, "2026-11-30T14:02:00.000Z");
  const whole = folded(STORY);
  assert.equal(whole.running, null);
  assert.deepEqual(whole.queue, []);
  assert.deepEqual([...whole.remembered], ["files__write"]);
  assert.equal(whole.policyLevel, "allow_all");
  assert.equal(whole.title, "Mine");
  assert.equal(whole.pending.size, 0);
});

test("at every point a replay after a snapshot equals what was live", () => {
  for (let at = 0; at <= STORY.length; at += 1) {
    const live = folded(STORY.slice(0, at));
    const now = standing(live);
    const again = folded(
      STORY.slice(0, at),
      snapshot({
        ...now,
        last_sequence: at,
        turn: now.turn,
        pending: [...live.pending.values()].map((one) => ({
          request_id: one.id, turn_id: one.turnId, expires_at: one.expiresAt,
          ...(one.kind === "choice" ? { prompt: one.prompt, options: one.options }
            : { call_id: one.callId, tool: one.tool, risk: one.risk, details: one.details }),
        })),
      }),
    );
    assert.deepEqual(standing(again), now, `after ${at} events`);
    assert.deepEqual([...again.turns.keys()], [...live.turns.keys()]);
    for (const [id, turn] of live.turns) {
      assert.equal(again.turns.get(id).status, turn.status);
      assert.deepEqual(again.turns.get(id).parts, turn.parts);
    }
  }
});

test("the replay builds the transcript and leaves the snapshot's state alone", () => {
  const state = folded(STORY, snapshot({ last_sequence: STORY.length, title: "Newer", policy_level: "read_only" }));
  assert.equal(state.title, "Newer");
  assert.equal(state.policyLevel, "read_only");
  assert.deepEqual([...state.remembered], []);
  assert.equal(state.turns.get("t1").status, "completed");
});

test("an event that was seen changes nothing, and one that is missing is noticed", () => {
  const state = folded(STORY.slice(0, 5));
  assert.equal(apply(state, STORY[4]), null);
  assert.equal(state.turns.get("t1").parts[0].text, "I will");
  assert.equal(apply(state, STORY[6]), "gap");
  assert.equal(state.sequence, 5);
});

test("a type that this page does not know is passed over", () => {
  const state = folded(STORY.slice(0, 1));
  apply(state, { type: "turn.dreamed", payload: {}, sequence: 2, at: AT });
  assert.equal(state.sequence, 2);
});

test("a reset forgets the transcript, a gap on the first visit only tells of older turns", () => {
  const state = folded(STORY);
  const { rebuild } = applySnapshot(state, snapshot({ log_id: "other", reset: true, first_sequence: 5, last_sequence: 9 }));
  assert.ok(rebuild);
  assert.equal(state.turns.size, 0);
  assert.equal(state.sequence, 4);
  const fresh = newState();
  assert.equal(applySnapshot(fresh, snapshot({ gap: true, first_sequence: 30, last_sequence: 29 })).rebuild, false);
  assert.ok(fresh.hasOlder);
  assert.equal(fresh.sequence, 29);
});

test("older turns of the history stand before those of the log", () => {
  const state = folded(STORY);
  const row = {
    id: "t0", input: "before", output: "answer", status: "completed", error: null, started_at: AT,
    finished_at: "2026-11-30T14:00:01.000Z", route: "cloud", route_source: "forced", provider: "p",
    model: "m", host: "h:443", usage: null, tool_calls: 2, stop_reason: "end_turn", warnings: [],
  };
  assert.equal(prependHistory(state, [row, { ...row, id: "t1" }]), 1);
  assert.deepEqual([...state.turns.keys()].slice(0, 2), ["t0", "t1"]);
  const turn = state.turns.get("t0");
  assert.equal(turn.durationMs, 1000);
  assert.equal(turn.tokensIn, null);
  assert.equal(turn.toolCalls, 2);
});

// The recordings that the server's own fold is tested with: the same state, by another hand.
const RECORDINGS = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../deck/recordings");

const ids = (state) => ({
  ...state,
  pending: state.pending.map((request) => request.request_id ?? request),
  turn: state.turn && { ...state.turn, open_calls: state.turn.open_calls.map((call) => call.call_id ?? call) },
});

for (const name of readdirSync(RECORDINGS).filter((each) => each.endsWith(".jsonl"))) {
  test(`recording ${name} comes to the state that stands beside it`, () => {
    const file = path.join(RECORDINGS, name);
    const events = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    const expected = JSON.parse(readFileSync(file.replace(/\.jsonl$/, ".json"), "utf8"));
    const first = events[0].sequence;
    const state = folded(events, snapshot({ first_sequence: first, last_sequence: first - 1, gap: first > 1 }));
    assert.deepEqual(ids(standing(state)), ids(expected));
  });
}
