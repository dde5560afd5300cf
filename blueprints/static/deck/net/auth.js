// Who may see the page's content: a token in this tab's sessionStorage, never in a cookie.
//
// It comes from a single-use code in the address (`#code=`), from the field of the sign-in page, or
// from another tab of this browser whose reader agreed.

import { forThisTab } from "./store.js";

export const token = () => forThisTab.get("token");
export const keepToken = (value) => forThisTab.set("token", value);
export const forgetToken = () => forThisTab.set("token", null);

// The code of the address, which is wiped before anything else runs (it must not stay in the
// history, nor be there when something fails). `fragment` is put in its place.
export function takeCode(fragment = "") {
  const found = /^#code=([\w-]+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, "", location.pathname + location.search + fragment);
  return found[1];
}

// Sign in with what a person has: a link's code, or a token. Gives null, or why it did not work:
// "wrong", "spent" (a code that was used or is too old), "busy" (too many tries), "unreachable".
export async function signIn(api, { code, token: typed }) {
  try {
    if (code) {
      const answer = await api.login(code);
      keepToken(answer.token);
    } else {
      await api.info(typed);
      keepToken(typed);
    }
    return null;
  } catch (error) {
    if (error.status === 429) return "busy";
    if (error.status === 0 || error.status >= 500) return "unreachable";
    return code ? "spent" : "wrong";
  }
}

// A pasted link works in the field too.
export function readField(text) {
  const trimmed = text.trim();
  const code = /#code=([\w-]+)$/.exec(trimmed)?.[1];
  return code ? { code } : { token: trimmed };
}
