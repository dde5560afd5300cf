// One turn: the prompt, the answer with its tools and questions, and where the words went.

import { destination } from "../core/select.js";
import { visible } from "../core/text.js";
import { duration, number, t, tCode, time } from "../i18n/index.js";
import { arrange, h, setText, show } from "../ui/dom.js";
import { icon } from "../ui/icons.js";
import { AnswerText } from "./answer.js";
import { cutText } from "./cut.js";
import { RequestCard } from "./request.js";
import { ToolCard } from "./tool.js";

export class TurnView {
  #parts = []; // a view per part of the turn
  #footer = "";

  constructor(turn, context) {
    Object.assign(this, { turn, context });
    const headingId = `you-${turn.id}`;
    this.when = h("time", { class: "meta" });
    this.promptText = h("p", { class: "prompt-text", dir: "auto" });
    const again = h(
      "button",
      { type: "button", class: "quiet small prompt-edit", onclick: () => context.edit(turn) },
      icon("pen"),
      h("span", {}, t("editAgain")),
    );
    this.origin = h("span", { class: "meta" });
    this.prompt = h(
      "div",
      { class: "prompt" },
      h("div", { class: "prompt-head" }, h("h2", { id: headingId }, t("you")), this.origin, this.when, again),
      this.promptText,
    );
    this.answer = h("div", { class: "answer" });
    this.working = h("p", { class: "working meta" }, h("span", { class: "pulse" }), h("span", {}, t("working")));
    this.failure = h("div", { class: "failure", hidden: true });
    this.cutWords = h("span", {});
    this.cut = h("p", { class: "cut", hidden: true }, icon("info"), this.cutWords);
    this.where = h("summary", {});
    this.facts = h("dl", { class: "facts" });
    this.footer = h("footer", { class: "turn-footer" }, h("details", {}, this.where, this.facts));
    this.element = h(
      "article",
      { class: "turn", id: `turn-${turn.id}`, "aria-labelledby": headingId, "aria-busy": "true" },
      this.prompt,
      this.answer,
      this.working,
      this.cut,
      this.failure,
      this.footer,
    );
  }

  // Gives the milliseconds until text that waits wants to be shown, or null.
  update() {
    const { turn } = this;
    setText(this.promptText, turn.prompt === null ? t("promptUnknown") : visible(turn.prompt));
    setText(this.when, turn.acceptedAt ? time(turn.acceptedAt) : "");
    setText(this.origin, turn.origin && turn.origin !== "deck" ? tCode("origin", turn.origin) : "");
    const wait = this.#updateParts();
    const isRunning = turn.status === "running";
    show(this.working, isRunning && turn.parts.at(-1)?.kind !== "text" && !this.#waitsForPerson());
    this.element.setAttribute("aria-busy", String(isRunning || wait !== null));
    this.#updateCut(wait === null);
    this.#updateFailure();
    this.#updateFooter();
    return wait;
  }

  retranslate() {
    this.#footer = "";
  }

  // In order: nothing is shown below a part that is not yet shown in full.
  #updateParts() {
    const { parts, status } = this.turn;
    let wait = null;
    for (let at = 0; at < parts.length && wait === null; at += 1) {
      this.#parts[at] ??= this.#viewOf(parts[at]);
      wait = this.#updatePart(at, status !== "running" || at < parts.length - 1);
    }
    if (this.answer.childElementCount !== this.#parts.length) {
      arrange(this.answer, this.#parts.map((view) => view.element));
    }
    return wait;
  }

  #updatePart(at, isOver) {
    const part = this.turn.parts[at];
    return this.#parts[at].update(part, isOver) ?? null;
  }

  tick() {
    if (this.turn.status === "running") for (const view of this.#parts) view.tick?.();
  }

  #viewOf(part) {
    if (part.kind === "text") return new AnswerText();
    if (part.kind === "call") return new ToolCard(part.call, this.context);
    const card = new RequestCard(part.request, this.context);
    this.context.register(card);
    return card;
  }

  // Then nothing works: a person is asked.
  #waitsForPerson() {
    return this.turn.parts.some(({ call, request = call?.request }) => request && this.context.isAsked(request.id));
  }

  // Below the answer, once all of it is shown.
  #updateCut(isShownInFull) {
    const text = isShownInFull ? cutText(this.turn) : null;
    show(this.cut, text !== null);
    if (text !== null) setText(this.cutWords, text);
  }

  #updateFailure() {
    const { turn } = this;
    const failed = turn.status === "failed";
    if (!failed || !this.failure.hidden) return show(this.failure, failed);
    const interrupted = turn.reason === "interrupted" || turn.reason === "cancelled";
    this.failure.classList.toggle("neutral", interrupted);
    this.failure.replaceChildren(...[
      h("p", {}, icon(interrupted ? "info" : "warning"), h("strong", {}, tCode("failed", turn.reason))),
      interrupted ? null : h("p", { class: "meta", dir: "auto" }, turn.message ? `${visible(turn.message)} ` : null, h("code", {}, visible(turn.reason))),
      h("p", {}, tCode("advice", adviceFor(turn.reason))),
      h("button", { type: "button", onclick: () => this.context.edit(turn) }, t("sendAgain")),
    ].filter(Boolean));
    show(this.failure, true);
  }

  #updateFooter() {
    const { turn } = this;
    const key = JSON.stringify([turn.routed, turn.tokensIn, turn.tokensOut, turn.durationMs, turn.status, turn.closed, turn.toolCalls, turn.warnings]);
    if (key === this.#footer) return;
    this.#footer = key;
    const where = destination(turn);
    this.where.replaceChildren(...(where === "unknown" ? this.#unrouted() : this.#routed(where)));
    this.facts.replaceChildren(...this.#factRows());
  }

  #unrouted() {
    const { status } = this.turn;
    if (status === "running") return [h("span", { class: "meta" }, t("routing"))];
    return [h("span", { class: "meta" }, t("wentNowhere"))];
  }

  #routed(where) {
    const { turn } = this;
    const { route, provider, model, host } = turn.routed;
    const name = [model ?? provider].filter(Boolean).map(visible).join(" ");
    const sentence = where === "sent" ? t("sentTo", visible(host)) : t(WORDS[where]);
    return [
      h("span", { class: `chip ${route}` }, icon(route === "local" ? "house" : "cloud"), t(`route.${route}`)),
      h("span", { class: "meta where" }, where === "stayed" ? icon("lock") : null, sentence),
      h("span", { class: "meta" }, name),
      h("span", { class: "meta tokens" }, this.#tokens()),
      turn.durationMs === null ? null : h("span", { class: "meta" }, duration(turn.durationMs)),
    ].filter(Boolean);
  }

  #tokens() {
    const { tokensIn, tokensOut, closed } = this.turn;
    if (!closed) return "";
    if (tokensIn == null && tokensOut == null) return t("notCounted");
    const known = (value) => (value == null ? t("unknown") : number(value));
    return t("tokens", known(tokensIn), known(tokensOut));
  }

  #factRows() {
    const { turn } = this;
    const routed = turn.routed ?? {};
    const rows = [
      [t("fact.route"), routed.route && `${t(`route.${routed.route}`)} (${tCode("source", routed.source)})`],
      [t("fact.because"), routed.reason && tCode("because", routed.reason)],
      [t("fact.provider"), routed.provider],
      [t("fact.model"), routed.model],
      [t("fact.host"), turn.routed && (routed.host ?? t("noNetwork"))],
      [t("fact.tokensIn"), turn.closed && (turn.tokensIn == null ? t("notCounted") : number(turn.tokensIn))],
      [t("fact.tokensOut"), turn.closed && (turn.tokensOut == null ? t("notCounted") : number(turn.tokensOut))],
      [t("fact.duration"), turn.durationMs !== null && duration(turn.durationMs)],
      [t("fact.tools"), number(turn.toolCalls)],
      [t("fact.stop"), turn.stopReason],
      [t("fact.warnings"), turn.warnings.map((code) => tCode("warning", code)).join(", ")],
      [t("fact.turn"), turn.id],
    ];
    return rows
      .filter(([, value]) => value)
      .flatMap(([name, value]) => [h("dt", {}, name), h("dd", { dir: "auto" }, visible(value))]);
  }
}

const WORDS = { stayed: "stayed", near: "near", unused: "noNetworkUsed" };

const ADVICE = {
  unauthorized: "key",
  local_unavailable: "local",
  cloud_unavailable: "cloud",
  model_not_found: "model",
  provider_unavailable: "reach",
  provider_timeout: "slow",
  timeout: "slow",
  rate_limited: "later",
  overloaded: "later",
  spend_limit: "spend",
  context_too_long: "shorter",
  interrupted: "again",
  session_stopped: "again",
  cancelled: "again",
};
const adviceFor = (reason) => ADVICE[reason] ?? "log";
