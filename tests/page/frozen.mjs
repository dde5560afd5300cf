// Pages on which it is always the same moment, so that a screenshot is the same in every run.
//
// The browser's clock stands still, and what the server says about time is put in its terms before
// the page hears it. Ids stay what they are: none of them is seen.

const NOW = "2026-11-30T12:40:00.000Z";

export const FROZEN = { locale: "en-US", timezoneId: "UTC" };

// To be called before the page is loaded. `leftMs`: how long requests still wait.
export async function freeze(page, { leftMs = 102_000 } = {}) {
  await page.clock.setFixedTime(NOW);
  await page.addInitScript(frozen, { now: Date.parse(NOW), leftMs });
}

// Later by the browser's clock alone.
export const pass = (page, ms) => page.clock.setFixedTime(Date.parse(NOW) + ms);

// Runs in the page.
function frozen({ now, leftMs }) {
  const before = (ms) => new Date(now - ms).toISOString();
  const AT = { "tool_call.started": before(210), "permission.resolved": before(210), "choice.resolved": before(210) };
  const TIMES = {
    started_at: before(1_840),
    finished_at: before(0),
    updated_at: before(0),
    at: before(0),
    expires_at: before(-leftMs),
    day: before(0).slice(0, 10),
    duration_ms: 1_840,
  };
  const known = (key, value) => (key in TIMES && value !== null ? TIMES[key] : value);

  function freeze(text) {
    const message = JSON.parse(text, known);
    if (message.type in AT) message.at = AT[message.type];
    return JSON.stringify(message);
  }

  Math.random = () => 0.5;
  globalThis.WebSocket = class extends WebSocket {
    set onmessage(heard) {
      super.onmessage = ({ data }) => heard(new MessageEvent("message", { data: freeze(data) }));
    }
  };
  const { fetch } = globalThis;
  globalThis.fetch = async (...what) => {
    const response = await fetch(...what);
    if (!/json/.test(response.headers.get("content-type"))) return response;
    const { status, headers } = response;
    return new Response(freeze(await response.text()), { status, headers });
  };
}
