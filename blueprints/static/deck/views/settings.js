// The one place for what tools may do in this conversation, and for how the page looks and speaks.

import { POLICY_LEVELS } from "../core/protocol.js";
import { visible } from "../core/text.js";
import { LANGUAGES, t } from "../i18n/index.js";
import { html, nothing, render } from "../ui/html.js";
import { SHORTCUTS, shown } from "../ui/keys.js";
import { allowNotifications } from "../ui/notify.js";
import { prefs, setPrefs } from "../ui/prefs.js";
import { Dialog } from "./dialog.js";

export class Settings {
  #dialog = new Dialog("settings");

  // actions: conversation() -> { policyLevel, remembered, isLive } or null, policy(level),
  // forget(tool), signOut()
  constructor(actions) {
    this.actions = actions;
  }

  open(part = null) {
    this.update();
    this.#dialog.open(t("settings"));
    if (part) this.#dialog.body.querySelector(`#settings-${part}`)?.scrollIntoView();
  }

  update() {
    this.#keepFocus();
    render(
      html`${this.#policy()} ${this.#look()} ${this.#reading()} ${this.#keys()}
        <section>
          <button type="button" class="danger" @click=${() => this.actions.signOut()}>${t("signOut")}</button>
        </section>`,
      this.#dialog.body,
    );
    if (this.#dialog.isOpen) this.#dialog.title.textContent = t("settings");
  }

  // A tool that is forgotten takes its button away: the last ones go, the rest get other names.
  #keepFocus() {
    const buttons = [...this.#dialog.body.querySelectorAll(".remembered button")];
    const at = buttons.indexOf(document.activeElement);
    const left = this.actions.conversation()?.remembered.length ?? 0;
    if (at < left) return;
    const chosen = this.#dialog.body.querySelector("input[name=policy]:checked");
    (buttons[left - 1] ?? chosen)?.focus({ preventScroll: true });
  }

  #policy() {
    const conversation = this.actions.conversation();
    if (!conversation) return nothing;
    const { policyLevel, remembered, isLive } = conversation;
    return html`<section>
      <fieldset ?disabled=${!isLive}>
        <legend>${t("policyLegend")}</legend>
        ${POLICY_LEVELS.map(
          (level) => html`<label class="option-row">
            <input type="radio" name="policy" .checked=${level === policyLevel} @change=${() => this.actions.policy(level)} />
            <span><strong>${t(`policy.${level}`)}</strong><span class="meta">${t(`policyMeans.${level}`)}</span></span>
          </label>`,
        )}
      </fieldset>
      <h3>${t("rememberedTools")}</h3>
      ${remembered.length
        ? html`<ul class="remembered">
            ${remembered.map(
              (tool) => html`<li>
                <code>${visible(tool.replace("__", "."))}</code>
                <button type="button" class="small" aria-label=${t("forgetTool", tool)} @click=${() => this.actions.forget(tool)}>${t("forget")}</button>
              </li>`,
            )}
          </ul>`
        : html`<p class="meta">${t("noRemembered")}</p>`}
    </section>`;
  }

  #look() {
    return html`<section>
      <h3>${t("look")}</h3>
      ${select(t("languageLabel"), "language", [["", t("asBrowser")], ...Object.entries(LANGUAGES).map(([id, [name]]) => [id, name])], prefs().language ?? "", (value) => setPrefs({ language: value || null }))}
      ${select(t("theme"), "theme", ["system", "light", "dark"].map((id) => [id, t(`theme.${id}`)]), prefs().theme, (value) => setPrefs({ theme: value }))}
    </section>`;
  }

  #reading() {
    return html`<section>
      <h3>${t("reading")}</h3>
      ${select(t("followTo"), "followTo", ["start", "end"].map((id) => [id, t(`followTo.${id}`)]), prefs().followTo, (value) => setPrefs({ followTo: value }))}
      ${select(t("speech"), "speech", ["sentences", "end", "status"].map((id) => [id, t(`speech.${id}`)]), prefs().speech, (value) => setPrefs({ speech: value }))}
      ${check(t("notify"), prefs().notify, (checked) => this.#notify(checked))}
    </section>`;
  }

  #keys() {
    return html`<section id="settings-keys">
      <h3>${t("keys")}</h3>
      ${check(t("keysOn"), prefs().keys, (checked) => setPrefs({ keys: checked }))}
      <dl class="keys">
        ${SHORTCUTS.map(([name, keys]) => this.#key(name, keys))}
      </dl>
    </section>`;
  }

  #key(name, keys) {
    const { keysOff } = prefs();
    const turn = ({ target }) => setPrefs({ keysOff: target.checked ? keysOff.filter((one) => one !== name) : [...keysOff, name] });
    return html`<div>
      <dt><kbd>${shown(keys)}</kbd></dt>
      <dd>${t(`key.${name}`)}</dd>
      <dd><input type="checkbox" aria-label=${t("keyOn", t(`key.${name}`))} .checked=${!keysOff.includes(name)} ?disabled=${!prefs().keys} @change=${turn} /></dd>
    </div>`;
  }

  async #notify(wanted) {
    setPrefs({ notify: wanted && (await allowNotifications()) });
    this.update();
  }
}

const select = (label, name, options, value, onChange) =>
  html`<label class="setting"><span>${label}</span>
    <select name=${name} @change=${(event) => onChange(event.target.value)}>
      ${options.map(([id, text]) => html`<option value=${id} ?selected=${id === value}>${text}</option>`)}
    </select></label>`;

const check = (label, checked, onChange) =>
  html`<label class="setting"><span>${label}</span>
    <input type="checkbox" .checked=${checked} @change=${(event) => onChange(event.target.checked)} /></label>`;
