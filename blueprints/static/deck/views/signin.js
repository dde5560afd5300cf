// Signing in: one field, for the token or for a link with a code.

import { t } from "../i18n/index.js";
import { html, nothing, render } from "../ui/html.js";
import { icon } from "../ui/icons.js";

export class SignIn {
  #fault = null;
  #busy = false;
  #shown = false;
  #isOffered = false;

  // actions: signIn(text), askTabs()
  constructor(root, actions) {
    Object.assign(this, { root, actions });
  }

  set fault(fault) {
    this.#fault = fault;
    this.#busy = false;
    this.render();
    if (fault) this.focus();
  }

  // Another tab asks its reader whether this one may come in.
  offered() {
    this.#isOffered = true;
    this.render();
  }

  focus() {
    this.root.querySelector("input")?.focus();
  }

  render() {
    render(
      html`
        <main class="signin">
          <h1>${t("signInTitle")}</h1>
          <p>${t("signInHow")} <code>.venv/bin/flask mead deck link</code></p>
          <p class="offered" role="status">${this.#isOffered ? t("lookAtOtherTab") : nothing}</p>
          <form @submit=${(event) => this.#submit(event)}>
            <label for="token">${t("tokenLabel")}</label>
            <div class="token-row">
              <input
                id="token"
                name="token"
                type=${this.#shown ? "text" : "password"}
                autocomplete="current-password"
                spellcheck="false"
                autocapitalize="off"
                aria-invalid=${String(Boolean(this.#fault))}
                aria-describedby="token-fault"
                required
              />
              <button type="button" class="quiet" aria-pressed=${String(this.#shown)} @click=${() => this.#flip()}>
                ${icon("eye")}<span>${t(this.#shown ? "hide" : "showIt")}</span>
              </button>
            </div>
            <p id="token-fault" class="fault" role="alert">
              ${this.#fault ? html`${icon("warning")}<span>${t(`signin.${this.#fault}`)}</span>` : nothing}
            </p>
            <button type="submit" class="primary wide" aria-disabled=${String(this.#busy)}>${t("signIn")}</button>
          </form>
          <p class="meta">${t("signInKept")}</p>
        </main>
      `,
      this.root,
    );
  }

  #flip() {
    this.#shown = !this.#shown;
    this.render();
  }

  #submit(event) {
    event.preventDefault();
    const text = new FormData(event.target).get("token");
    if (this.#busy || !text.trim()) return;
    this.#busy = true;
    this.#fault = null;
    this.render();
    this.actions.signIn(text);
  }
}
