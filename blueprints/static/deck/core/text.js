// Text that others wrote, made fit to be shown as text. Pure.

const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

const code = (character) =>
  `\u27e8U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;

// Names, titles, arguments: characters that reorder or hide what follows are shown by number, so
// that `tool\u202egpj.exe` cannot read as another name.
export const visible = (text) => String(text).replace(BIDI, code).replace(CONTROLS, code);

// JSON as a person reads it: `key: value` a line, texts without quotation marks and escapes.
export function argumentLines(value) {
  if (value === null || typeof value !== "object") return visible(plain(value));
  const lines = Object.entries(value).map(([key, one]) => `${key}: ${plain(one)}`);
  return visible(lines.join("\n"));
}

const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
