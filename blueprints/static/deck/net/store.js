// The browser's storage under names of this page's own path: two Meads behind one host do not meet.
// Storage may be full, or forbidden: then the page works without it.

export const BASE = new URL("../", import.meta.url).pathname;

const keyOf = (name) => `mead ${BASE} ${name}`;

function over(storage) {
  return {
    get(name, otherwise = null) {
      try {
        const text = storage().getItem(keyOf(name));
        return text === null ? otherwise : JSON.parse(text);
      } catch {
        return otherwise;
      }
    },
    set(name, value) {
      try {
        if (value === null) storage().removeItem(keyOf(name));
        else storage().setItem(keyOf(name), JSON.stringify(value));
        return true;
      } catch {
        return false;
      }
    },
  };
}

export const kept = over(() => localStorage);
export const forThisTab = over(() => sessionStorage);
