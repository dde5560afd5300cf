// The keyboard shortcuts, in one table: what the help lists is what works.

import { prefs } from "./prefs.js";

const ESC_TWICE_MS = 2000;
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

// name -> [what is pressed, for the help]; the handlers are main.js's.
export const SHORTCUTS = [
  ["help", "Ctrl+/"],
  ["search", "Ctrl+K"],
  ["new", "Ctrl+Shift+O"],
  ["copyCode", "Ctrl+Shift+;"],
  ["composer", "Shift+Esc"],
  ["regions", "F6"],
  ["request", "F8"],
  ["editLast", "\u2191"],
  ["stop", "Esc Esc"],
];

// Whether the reader has left it on.
export const isOn = (name) => prefs().keys && !prefs().keysOff.includes(name);

export const shown = (keys) => (isMac ? keys.replace("Ctrl", "\u2318") : keys);

export class Keys {
  #escapedAt = -Infinity;

  // handlers: a function per name of SHORTCUTS. `signal` ends the listening.
  constructor(handlers, signal) {
    addEventListener("keydown", (event) => {
      if (event.isComposing || event.defaultPrevented) return;
      const name = nameOf(event);
      if (!name || !isOn(name)) return;
      if (name === "stop") return this.#escape(handlers);
      event.preventDefault();
      if (!event.repeat) handlers[name]();
    }, { signal });
  }

  // One press closes a layer (the browser does that for a dialog); two within 2 s stop the turn.
  #escape(handlers) {
    if (document.querySelector("dialog[open]")) return;
    const now = performance.now();
    if (now - this.#escapedAt < ESC_TWICE_MS) {
      this.#escapedAt = -Infinity;
      handlers.stop();
    } else {
      this.#escapedAt = now;
      handlers.stopHint();
    }
  }
}

function nameOf(event) {
  const control = (isMac ? event.metaKey : event.ctrlKey) && !event.altKey;
  const key = (event.key ?? "").toLowerCase(); // a filled-in password is a keydown without a key
  const dialog = document.querySelector("dialog[open]");
  if (key === "escape") return event.shiftKey ? (dialog ? null : "composer") : event.repeat ? null : "stop";
  if (dialog) return null;
  if (control && key === "/") return "help";
  if (control && !event.shiftKey && key === "k") return "search";
  if (control && event.shiftKey && key === "o") return "new";
  if (control && event.shiftKey && (key === ";" || key === ":")) return "copyCode";
  if (key === "f6") return "regions";
  if (key === "f8") return "request";
  return null;
}
