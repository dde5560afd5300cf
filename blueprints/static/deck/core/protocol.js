// The frames of the deck protocol: what the page says, and what it makes of what it hears. Pure.

export const SUBPROTOCOL = "mead.deck.v1";
export const POLICY_LEVELS = ["ask_for_all", "ask_for_risky", "allow_all", "read_only"];
export const ROUTES = ["auto", "local", "cloud"];

const frame = (type, payload) => JSON.stringify({ type, payload });

export const frames = {
  resume: (lastSequence, logId, deviceId) =>
    frame("session.resume", {
      last_sequence: lastSequence,
      ...(logId ? { log_id: logId } : {}),
      device_id: deviceId,
    }),
  prompt: ({ id, text, route }) =>
    frame("prompt.send", { client_message_id: id, text, ...(route ? { route } : {}) }),
  cancelPrompt: (id) => frame("prompt.cancel", { client_message_id: id }),
  cancelTurn: (turnId) => frame("turn.cancel", { turn_id: turnId }),
  cancelCall: (callId) => frame("tool_call.cancel", { call_id: callId }),
  answer: (requestId, answer) =>
    frame("permission.respond", { request_id: requestId, answer }),
  extend: (requestId) => frame("request.extend", { request_id: requestId }),
  forget: (tool) => frame("permission.forget", { tool }),
  choose: (requestId, option) => frame("choice.respond", { request_id: requestId, option }),
  policy: (level) => frame("policy.set", { level }),
};

// The message as an object with type and payload; null for anything else. A newer server may send
// types that this page does not know: they are passed on, and the fold ignores them.
export function parse(text) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return null;
  }
  if (message === null || typeof message !== "object" || typeof message.type !== "string") {
    return null;
  }
  const payload = message.payload ?? {};
  if (typeof payload !== "object" || Array.isArray(payload)) return null;
  return { ...message, payload };
}

// Whether a prompt fits, counted as the server counts: code points of the text, bytes of the frame.
// `fill` is the part of the nearer limit that is used.
export function measure(text, limits) {
  const characters = codePoints(text);
  const id = "x".repeat(64); // the longest there may be
  const bytes = utf8Length(frames.prompt({ id, text, route: "local" }));
  const fill = Math.max(characters / limits.text_characters, bytes / limits.frame_bytes);
  return { characters, bytes, fill, fits: fill <= 1 };
}

// The most code units of `text` that still fit, never half a character.
export function longestFit(text, limits) {
  const whole = (at) => (/[\uD800-\uDBFF]/.test(text.charAt(at - 1)) ? at - 1 : at);
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(text.slice(0, whole(middle)), limits).fits) low = middle;
    else high = middle - 1;
  }
  return whole(low);
}

function codePoints(text) {
  let pairs = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit < 0xdc00) pairs += 1;
  }
  return text.length - pairs;
}

const encoder = new TextEncoder();
const utf8Length = (text) => encoder.encode(text).length;

// 128 random bits, in the alphabet that the protocol allows.
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
