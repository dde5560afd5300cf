// A layer over the page. The browser keeps the focus inside and closes it on Esc; afterwards the
// focus returns to where it came from.

import { t } from "../i18n/index.js";
import { h } from "../ui/dom.js";
import { icon } from "../ui/icons.js";

export class Dialog {
  constructor(name) {
    this.title = h("h2", { id: `${name}-title` });
    this.body = h("div", { class: "dialog-body" });
    this.closeButton = h("button", { type: "button", class: "quiet icon-only", onclick: () => this.close() }, icon("cross"));
    this.element = h(
      "dialog",
      { class: `dialog ${name}`, "aria-labelledby": `${name}-title` },
      h("div", { class: "dialog-head" }, this.title, this.closeButton),
      this.body,
    );
    this.element.addEventListener("close", () => {
      const opener = this.opener;
      if (opener?.isConnected) opener.focus({ preventScroll: true });
      this.onClose?.();
    });
    // A press on the ground beside it closes it, as people expect of a layer.
    this.element.addEventListener("pointerdown", (event) => {
      if (event.target === this.element) this.close();
    });
    document.body.append(this.element);
  }

  get isOpen() {
    return this.element.open;
  }

  open(title) {
    this.title.textContent = title;
    this.closeButton.setAttribute("aria-label", t("close"));
    if (this.isOpen) return;
    this.opener = document.activeElement;
    this.element.showModal();
  }

  close() {
    if (this.isOpen) this.element.close();
  }
}
