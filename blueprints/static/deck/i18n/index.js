// The words of the page: flat keys to texts or functions, in the reader's language.

import en from "./en.js";
import ptBR from "./pt-BR.js";

export const LANGUAGES = { en: ["English", en], "pt-BR": ["Portugu\u00eas (Brasil)", ptBR] };

let chosen = "en";

// `setting`: a language, or null for the first one that the browser asks for and that there is.
export function chooseLanguage(setting, asked = globalThis.navigator?.languages ?? []) {
  const match = asked.map((tag) =>
    Object.keys(LANGUAGES).find((name) => name.split("-")[0] === tag.toLowerCase().split("-")[0]),
  );
  chosen = LANGUAGES[setting] ? setting : (match.find(Boolean) ?? "en");
  if (globalThis.document) document.documentElement.lang = chosen;
}

export const language = () => chosen;

// The text for a key. An unknown one (a newer server's code) is shown as it is.
export function t(key, ...values) {
  const text = LANGUAGES[chosen][1][key] ?? en[key] ?? key;
  return typeof text === "function" ? text(...values) : text;
}

// The text for a code of the protocol, and the code itself where there is none.
export const tCode = (prefix, code) => {
  const key = `${prefix}.${code}`;
  return LANGUAGES[chosen][1][key] ?? en[key] ?? String(code);
};

// Making a formatter takes longer than using it a thousand times.
const formatters = new Map();

function formatter(Kind, options) {
  const key = `${chosen} ${Kind.name} ${JSON.stringify(options)}`;
  if (!formatters.has(key)) formatters.set(key, new Kind(chosen, options));
  return formatters.get(key);
}

const dates = (options) => formatter(Intl.DateTimeFormat, options);

export const number = (value) => formatter(Intl.NumberFormat, {}).format(value);
export const time = (iso) => dates({ hour: "2-digit", minute: "2-digit" }).format(new Date(iso));
export const dateTime = (iso) => dates({ dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));

export const day = (iso, style = { day: "numeric", month: "short" }) =>
  dates({ ...style, timeZone: "UTC" }).format(new Date(iso));

// 240 ms -> "0.2 s", 75 s -> "1:15"
export function duration(ms) {
  if (ms >= 60_000) return clock(ms);
  if (ms < 100) return `${number(Math.round(ms))} ms`;
  const digits = ms < 10_000 ? 1 : 0;
  const seconds = formatter(Intl.NumberFormat, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${seconds.format(ms / 1000)} s`;
}

// What still runs: whole seconds, which grow no digit behind the comma.
export const elapsed = (ms) => (ms >= 60_000 ? clock(ms) : `${number(Math.floor(ms / 1000))} s`);

export function clock(ms) {
  const seconds = Math.ceil(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
