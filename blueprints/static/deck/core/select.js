// Questions about the state that more than one view asks. Pure.

// Waiting requests, oldest first.
export const openRequests = (state) => [...state.pending.values()];

export const textOf = (turn) =>
  turn.parts
    .filter((part) => part.kind === "text")
    .map((part) => part.text)
    .join("\n\n");

export const callsOf = (turn) =>
  turn.parts.filter((part) => part.kind === "call").map((part) => part.call);

// Whether a model that stopped for this reason had said all it wanted to (null: it was not asked).
export const isWhole = (stopReason) => stopReason === null || WHOLE.has(stopReason);
const WHOLE = new Set(["end_turn", "stop_sequence", "stop", "tool_use"]);

// `127.0.0.1:11434`, `[::1]:8080`, `localhost`: is it this machine?
export function isLoopback(host) {
  if (!host) return false;
  const name = host.replace(/:\d+$/, "").replace(/^\[|\]$/g, "").toLowerCase();
  return (
    name === "localhost" ||
    name === "::1" ||
    (/^127(\.\d{1,3}){3}$/.test(name) && name.split(".").every((part) => Number(part) < 256))
  );
}

// Where a turn's words went: "unknown" before it is routed; "unused" if the cloud's slot used no
// network; "stayed" only when it is certain: no network or a loopback host, and no tool, which may
// send words anywhere.
export function destination(turn) {
  if (!turn.routed) return "unknown";
  if (turn.routed.route === "cloud") return turn.routed.host ? "sent" : "unused";
  const near = !turn.routed.host || isLoopback(turn.routed.host);
  if (!near) return "sent";
  return turn.toolCalls === 0 ? "stayed" : "near";
}

// Where a prompt will go, as far as that is known before it is sent.
export function outlook(route, info) {
  const chosen = route ?? info?.default_route ?? null;
  const slots = info?.slots ?? {};
  if (chosen === "local" || chosen === "cloud") return { route: chosen, slot: slots[chosen] ?? null };
  return { route: "auto", slot: null, either: slots };
}

// Milliseconds until a request expires, by the server's clock. `offset` is how far our clock is
// ahead of it.
export const timeLeft = (request, now, offset) =>
  Math.max(0, Date.parse(request.expiresAt) - (now - (offset ?? 0)));

// The last of the reader's own prompts, to edit and send again.
export const lastPrompt = (state) =>
  [...state.turns.values()].reverse().find((turn) => turn.prompt !== null)?.prompt ?? null;

// The source of the newest block of code, for the shortcut that copies it.
export function lastCode(state) {
  const fence = /^ {0,3}(`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n? {0,3}\1[`~]*[ \t]*$/gm;
  for (const turn of [...state.turns.values()].reverse()) {
    const found = [...textOf(turn).matchAll(fence)];
    if (found.length) return found.at(-1)[2];
  }
  return null;
}
