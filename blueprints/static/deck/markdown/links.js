// Which links of an answer lead somewhere. Pure.

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

// The address as the browser will take it; null for one that is not followed: another scheme,
// a relative one (an answer has no place of its own), one with a name and password in it.
export function safeHref(href) {
  if (/[\u0000-\u001f\u007f]/.test(href)) return null;
  let url;
  try {
    url = new URL(href);
  } catch {
    return null;
  }
  if (!SCHEMES.has(url.protocol) || url.username || url.password) return null;
  return url.href;
}

// The host to show behind a link whose text does not name it; null where the text does.
export function hostToShow(text, href) {
  const url = new URL(href);
  const host = url.protocol === "mailto:" ? url.pathname : url.host;
  const shown = text.trim().toLowerCase().replace(/^[a-z]+:(\/\/)?/, "");
  const names = shown === host || [..."/?#:"].some((mark) => shown.startsWith(host + mark));
  return names ? null : host;
}
