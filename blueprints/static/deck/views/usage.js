// What the models were sent and what came back: totals, days, and the latest turns.

import { visible } from "../core/text.js";
import { dateTime, day, duration, number, t } from "../i18n/index.js";
import { html, nothing, render } from "../ui/html.js";
import { icon } from "../ui/icons.js";
import { chart, routesOf } from "./chart.js";
import { Dialog } from "./dialog.js";

const EVERY_MS = 30_000;

export class Usage {
  #dialog = new Dialog("usage");
  #timer = null;
  #data = null;

  constructor(load) {
    this.load = load;
    this.#dialog.onClose = () => clearTimeout(this.#timer);
  }

  open() {
    this.#render();
    this.#dialog.open(t("usage"));
    this.refresh();
  }

  // Also called when a turn has ended.
  async refresh() {
    if (!this.#dialog.isOpen) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), EVERY_MS);
    try {
      this.#data = await this.load();
    } catch {
      this.#data ??= { failed: true };
    }
    this.#render();
  }

  #render() {
    const data = this.#data;
    const content = !data ? t("loading") : data.failed ? t("usageFailed") : this.#content(data);
    render(html`${content}`, this.#dialog.body);
  }

  #content({ totals, routes, days, recent }) {
    return html`
      <dl class="totals">
        ${total(t("turns"), number(totals.turns))}
        ${total(t("failedTurns"), number(totals.failed))}
        ${total(t("tokensIn"), tokens(totals)[0])}
        ${total(t("tokensOut"), tokens(totals)[1])}
        ${total(t("toolCalls"), number(totals.tool_calls))}
      </dl>
      <h3>${t("byModel")}</h3>
      ${table(
        [t("route"), t("model"), t("turns"), t("failedTurns"), t("tokensIn"), t("tokensOut")],
        routes.map((row) => [
          chip(row.route),
          [row.provider, row.model].filter(Boolean).map(visible).join(" "),
          ...counts(row),
        ]),
      )}
      <h3>${t("perDay")}</h3>
      ${chart(days)}
      <p class="meta chart-legend">
        ${chip("local")}<span>${t("plainBar")}</span>${chip("cloud")}<span>${t("hatchedBar")}</span>
        ${days.some((row) => routesOf(row).untold) ? html`<span>${t("greyBar")}</span>` : nothing}
      </p>
      <details><summary>${t("asTable")}</summary>
        ${table(
          [t("day"), t("route.local"), t("route.cloud"), t("turns"), t("failedTurns"), t("tokensIn"), t("tokensOut")],
          [...days].reverse().map((row) => [day(row.day, { dateStyle: "medium" }), ...byRoute(row), ...counts(row)]),
        )}
      </details>
      <h3>${t("latest")}</h3>
      ${table(
        [t("when"), t("route"), t("model"), t("tokensIn"), t("tokensOut"), t("took")],
        recent.map((row) => [
          dateTime(row.at),
          html`${t(`route.${row.route}`)}${row.status === "error" ? html` <span class="chip risk">${t("failedOne")}</span>` : nothing}`,
          visible(row.model ?? row.provider ?? ""),
          ...tokens(row),
          duration(row.duration_ms),
        ]),
      )}
      <p class="meta">${t("usageNote")}</p>
    `;
  }
}

const total = (name, value) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

const chip = (route) =>
  html`<span class="chip ${route}">${icon(route === "local" ? "house" : "cloud")}${t(`route.${route}`)}</span>`;

// The ledger writes 0 for what a provider did not count; no turn is sent without a token.
function tokens({ input_tokens: sent, output_tokens: received }) {
  return sent || received ? [number(sent), number(received)] : [t("uncounted"), t("uncounted")];
}

function byRoute(row) {
  const { local, cloud, untold } = routesOf(row);
  return [local, cloud].map((turns) => (untold && !turns ? t("unknown") : number(turns)));
}

const counts = (row) => [number(row.turns), number(row.failed), ...tokens(row)];

const table = (heads, rows) =>
  rows.length
    ? html`<div class="table-box" tabindex="0" role="group" aria-label=${t("table")}>
        <table>
          <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
          <tbody>${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
        </table>
      </div>`
    : html`<p class="meta">${t("nothingYet")}</p>`;
