// When to try again, and what each ending of a connection asks for. Pure.
//
// What an ending asks for: `now` (nothing is wrong), `wait` (try with growing delays), `signin`,
// `deleted`, `damaged`, `forbidden` and `stop` (nothing the page can mend by trying).

export const FIRST_MS = 500;
export const LONGEST_MS = 15_000;
export const HIDDEN_MS = 60_000; // nobody looks
export const STEADY_MS = 10_000; // a connection that lived so long was a good one

// Random between the half and the whole, so that a thousand pages do not come back as one.
export function delay(attempt, { random = Math.random, hidden = false } = {}) {
  if (hidden) return HIDDEN_MS;
  const whole = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 10));
  return Math.round(whole * (0.5 + random() / 2));
}

export function afterClose(code, reason, { noResume = 0 } = {}) {
  switch (code) {
    case 1001:
      return reason === "idle" ? "now" : "wait";
    case 1013:
    case 4409: // stopped: a ticket starts it again
      return "now";
    case 4401: // we did not resume in time; twice in a row is no accident
      return noResume > 1 ? "wait" : "now";
    case 4404:
      return "deleted";
    case 1008:
    case 1009:
      return "stop";
    default: // 1006 lost, 1011 failed, 1012 restart, and what is not known yet
      return "wait";
  }
}

export function afterTicket(status) {
  switch (status) {
    case 401:
      return "signin";
    case 403:
      return "forbidden";
    case 404:
      return "deleted";
    case 409:
      return "damaged";
    case 400:
      return "stop";
    default: // 429, 503, a proxy's 502, no answer at all
      return "wait";
  }
}

// Retry-After in milliseconds: seconds or a date; null if there is none.
export function retryAfter(header, now = Date.now()) {
  if (!header) return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
