// The conversations: search in titles, a new one, and which of them run or wait for a person.

import { visible } from "../core/text.js";
import { t } from "../i18n/index.js";
import { html, nothing, render, repeat } from "../ui/html.js";
import { icon } from "../ui/icons.js";

export class ConversationList {
  #rows = null; // null: not loaded yet
  #search = "";
  #open = null;
  #failed = false;

  // actions: create(), manage(row), usage(), settings(), close()
  constructor(root, actions) {
    Object.assign(this, { root, actions });
    this.render();
  }

  set rows(rows) {
    // A late answer never removes the one that is open.
    const open = this.#rows?.find((row) => row.session_id === this.#open);
    if (open && !rows.some((row) => row.session_id === this.#open)) rows = [open, ...rows];
    this.#rows = [...rows].sort((a, b) => (b.updated_at ?? "").localeCompare(a.updated_at ?? ""));
    this.#failed = false;
    this.render();
  }

  set failed(failed) {
    this.#failed = failed;
    this.render();
  }

  set open(sessionId) {
    this.#open = sessionId;
    this.render();
  }

  find(sessionId) {
    return this.#rows?.find((row) => row.session_id === sessionId) ?? null;
  }

  drop(sessionId) {
    this.#open = this.#open === sessionId ? null : this.#open;
    this.#rows = (this.#rows ?? []).filter((row) => row.session_id !== sessionId);
    this.render();
  }

  // What the open conversation knows better than the last answer.
  patch(sessionId, change) {
    const row = this.find(sessionId);
    if (row) Object.assign(row, change);
    else if (this.#rows) this.#rows = [{ session_id: sessionId, updated_at: new Date().toISOString(), ...change }, ...this.#rows];
    this.render();
  }

  focusSearch() {
    this.root.querySelector("input[type=search]")?.focus();
  }

  render() {
    const { actions } = this;
    render(
      html`
        <div class="list-head">
          <button type="button" class="primary wide" @click=${() => actions.create()}>
            ${icon("plus")}<span>${t("newConversation")}</span>
          </button>
          <label class="search">
            <span class="visually-hidden">${t("search")}</span>
            <input type="search" placeholder=${t("search")} .value=${this.#search} @input=${(event) => this.#find(event)} />
          </label>
        </div>
        <div class="list-body">${this.#body()}</div>
        <div class="list-foot">
          <button type="button" class="quiet" @click=${() => actions.usage()}>${icon("chart")}<span>${t("usage")}</span></button>
          <button type="button" class="quiet" @click=${() => actions.settings()}>${icon("gear")}<span>${t("settings")}</span></button>
        </div>
      `,
      this.root,
    );
  }

  #find(event) {
    this.#search = event.target.value;
    this.render();
  }

  #body() {
    if (this.#failed && !this.#rows) return html`<p class="meta">${t("listFailed")}</p>`;
    if (!this.#rows) return html`<p class="meta">${t("loading")}</p>`;
    const words = fold(this.#search).split(/\s+/).filter(Boolean);
    const rows = this.#rows.filter((row) => words.every((word) => fold(titleOf(row)).includes(word)));
    if (!rows.length) return html`<p class="meta">${t(this.#search ? "nothingFound" : "noConversations")}</p>`;
    return html`<ul class="list">
      ${repeat(rows, (row) => row.session_id, (row) => this.#row(row))}
    </ul>`;
  }

  #row(row) {
    const isOpen = row.session_id === this.#open;
    return html`<li class=${isOpen ? "open" : ""}>
      <a href=${`#/c/${row.session_id}`} aria-current=${isOpen ? "page" : nothing} @click=${() => this.actions.close()}>
        <span class="list-title" dir="auto">${titleOf(row)}</span>
        ${row.pending ? html`<span class="chip risk">${icon("warning")}${t("needsYouCount", row.pending)}</span>` : nothing}
        ${row.turn_running && !row.pending ? html`<span class="chip plain"><span class="pulse"></span>${t("runs")}</span>` : nothing}
        ${row.queued ? html`<span class="chip plain">${t("queuedCount", row.queued)}</span>` : nothing}
      </a>
      <button type="button" class="quiet icon-only" aria-label=${t("manage", titleOf(row))} @click=${() => this.actions.manage(row)}>
        ${icon("more")}
      </button>
    </li>`;
  }
}

export const titleOf = (row) => visible(row.title || t("untitled"));

// Without case and accents: "ate" finds "Até".
const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
