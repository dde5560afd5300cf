// What a reader chose for this browser.

import { kept } from "../net/store.js";

const DEFAULTS = {
  theme: "system", // light, dark
  language: null, // null: as the browser asks
  speech: "sentences", // "end", "status": what a screen reader is told of an answer
  followTo: "start", // "end": whether a running answer is followed to its end
  keys: true, // shortcuts
  keysOff: [], // names of those that are off, by themselves
  notify: false,
};

let values = { ...DEFAULTS, ...kept.get("prefs", {}) };
const listeners = new Set();

export const prefs = () => values;

export function setPrefs(change) {
  values = { ...values, ...change };
  kept.set("prefs", values);
  for (const listener of listeners) listener(values);
}

// Another tab changed them.
export function reloadPrefs() {
  values = { ...DEFAULTS, ...kept.get("prefs", {}) };
  for (const listener of listeners) listener(values);
}

export const onPrefs = (listener) => listeners.add(listener);

export function applyTheme() {
  const { theme } = values;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
