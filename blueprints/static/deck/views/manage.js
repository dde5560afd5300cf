// One conversation's own matters: its title, its files, stopping it, deleting it (asked twice).

import { t } from "../i18n/index.js";
import { h } from "../ui/dom.js";
import { html, nothing, render } from "../ui/html.js";
import { Dialog } from "./dialog.js";
import { titleOf } from "./list.js";

export class Manage {
  #dialog = new Dialog("manage");
  #row = null;
  #asks = false; // whether "really delete?" is shown
  #fault = null;

  // `api`; `isOpen(id)`, `leave()` the open one; `renamed(id, title)`, `removed(id)`, `changed()`.
  constructor(page) {
    this.page = page;
  }

  open(row) {
    this.#row = row;
    this.#asks = false;
    this.#fault = null;
    this.#render();
    this.#dialog.open(t("conversation"));
  }

  async #do(act, close = true) {
    try {
      await act();
      if (close) this.#dialog.close();
    } catch (error) {
      this.#fault = error.code ?? String(error.status ?? error);
      this.#render();
    }
  }

  #render() {
    const row = this.#row;
    const id = row.session_id;
    render(
      html`
        <form @submit=${(event) => this.#rename(event)}>
          <label for="manage-title-field">${t("title")}</label>
          <div class="token-row">
            <input id="manage-title-field" name="title" maxlength="200" dir="auto" .value=${row.title ?? ""} />
            <button type="submit">${t("save")}</button>
          </div>
        </form>
        <div class="rows">
          <button type="button" @click=${() => this.#do(() => this.#export(id, "markdown", "md"))}>${t("exportMarkdown")}</button>
          <button type="button" @click=${() => this.#do(() => this.#export(id, "jsonl", "jsonl"))}>${t("exportJson")}</button>
          ${row.running ? html`<button type="button" @click=${() => this.#do(() => this.#stop(id))}>${t("stopConversation")}</button>` : nothing}
          ${this.#asks
            ? html`<div class="confirm" role="alert">
                <p>${t("deleteQuestion", titleOf(row))}</p>
                <button type="button" @click=${() => this.#ask(false)}>${t("back")}</button>
                <button type="button" class="danger" @click=${() => this.#do(() => this.#remove(id))}>${t("deleteForGood")}</button>
              </div>`
            : html`<button type="button" class="danger" @click=${() => this.#ask(true)}>${t("delete")}</button>`}
        </div>
        <p class="fault" role="alert">${this.#fault ? t("didNotWork", this.#fault) : nothing}</p>
      `,
      this.#dialog.body,
    );
  }

  #ask(asks) {
    this.#asks = asks;
    this.#render();
    this.#dialog.body.querySelector(asks ? ".confirm button" : ".danger")?.focus();
  }

  #rename(event) {
    event.preventDefault();
    const title = new FormData(event.target).get("title").trim();
    if (title) this.#do(() => this.#renameTo(this.#row.session_id, title));
  }

  // -- what is done --------------------------------------------------------------------------------

  async #renameTo(id, title) {
    await this.page.api.rename(id, title);
    this.page.renamed(id, title);
    this.page.changed();
  }

  async #export(id, format, ending) {
    download(await this.page.api.exportFile(id, format), `${id}.${ending}`);
  }

  async #stop(id) {
    if (this.page.isOpen(id)) this.page.leave(); // an open one would start again at once
    await this.page.api.stop(id);
    this.page.changed();
  }

  async #remove(id) {
    await this.page.api.remove(id);
    if (this.page.isOpen(id)) this.page.leave();
    this.page.removed(id);
    this.page.changed();
  }
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
