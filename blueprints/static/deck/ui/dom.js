// A small way to make elements: text is always text, and no attribute can hold script.

// h("button", { class: "quiet", onclick: fn, "aria-label": "Stop" }, "Stop")
export function h(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// Writes only what differs, so that a selection or a screen reader's place is not disturbed.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
}

// Makes the children of `parent` exactly `wanted`, moving and removing only what is out of place.
export function arrange(parent, wanted) {
  let at = parent.firstChild;
  for (const node of wanted) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// Moves the focus elsewhere before an element that holds it goes away or is disabled.
export function yieldFocus(element, to) {
  if (element.contains(document.activeElement)) to?.focus({ preventScroll: true });
}
