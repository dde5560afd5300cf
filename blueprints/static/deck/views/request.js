// A request to a person: may this tool run (permission), or which of these (choice).
//
// A person decides: the card never takes the focus, no button is a default, and it hears a click only
// after it has stood still for 600 ms in a visible tab, so that a key or a click that was meant for
// something else answers nothing. The same box later tells who decided.

import { argumentLines, visible } from "../core/text.js";
import { timeLeft } from "../core/select.js";
import { clock, t } from "../i18n/index.js";
import { h, setText, show, yieldFocus } from "../ui/dom.js";
import { icon } from "../ui/icons.js";

const STILL_MS = 600;
const STILL_PX = 2;

// Hears a press only when it was made here, now, by someone who could read what they press.
export class Armed {
  #since = Infinity;
  #top = NaN;
  #keyDown = false;

  constructor(element) {
    this.element = element;
    element.addEventListener("keydown", (event) => {
      if (event.repeat) event.preventDefault();
      else this.#keyDown = this.isArmed;
    });
    document.addEventListener("visibilitychange", () => this.disturb());
  }

  get isArmed() {
    return !document.hidden && performance.now() - this.#since >= STILL_MS;
  }

  // Called each frame in which something changed: has it moved?
  check() {
    const { top, height } = this.element.getBoundingClientRect();
    if (!height) this.#since = Infinity;
    else if (!(Math.abs(top - this.#top) <= STILL_PX)) this.disturb();
    else if (this.#since === Infinity) this.#since = performance.now();
    this.#top = top;
  }

  // The reader scrolled: that is no movement under their hand.
  moveAlong() {
    this.#top = this.element.getBoundingClientRect().top;
  }

  disturb() {
    this.#since = performance.now();
  }

  accepts(event) {
    if (!this.isArmed) return false;
    const byKey = event.detail === 0;
    return !byKey || this.#keyDown;
  }
}

export class RequestCard {
  // actions: answer(request, answer), choose(request, option), extend(request)
  constructor(request, context) {
    Object.assign(this, { request, context });
    this.state = h("p", { class: "request-state" });
    this.left = h("span", { class: "countdown", data: { request: request.id } });
    this.more = this.#button(t("moreTime"), () => context.extend(request), "quiet small");
    this.waiting = h("p", { class: "request-clock" }, icon("clock"), this.left, h("span", {}, t("clockPaused")), this.more);
    this.buttons = h("div", { class: "request-buttons" });
    this.element = h(
      "section",
      { class: `request ${request.kind} ${request.risk ?? ""}`, tabindex: "-1", data: { id: request.id } },
      this.#head(),
      this.#asker(),
      this.buttons,
      this.waiting,
      this.state,
    );
    this.armed = new Armed(this.element);
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.#offer();
    this.update();
  }

  get isOpen() {
    return this.request.resolved === null;
  }

  update() {
    const { request, context } = this;
    const waits = this.isOpen && context.isPending(request.id);
    yieldFocusIf(!waits, this.buttons, this.element);
    show(this.buttons, waits);
    show(this.waiting, waits);
    for (const button of this.buttons.querySelectorAll("button")) {
      button.setAttribute("aria-disabled", String(!context.isLive() || Boolean(this.sent)));
    }
    this.element.classList.toggle("settled", !waits);
    setText(this.state, waits ? this.#waitingText() : decision(request, context));
    this.tick();
  }

  tick() {
    if (this.isOpen) setText(this.left, clock(this.context.timeLeft(this.request)));
  }

  #waitingText() {
    if (!this.context.isLive()) return t("answerWhenLive");
    if (this.sent) return t("answerSent");
    return this.tooSoon ? t("tooSoon") : "";
  }

  #head() {
    const { request } = this;
    if (request.kind === "choice") {
      return h("p", { class: "request-title", dir: "auto" }, icon("question"), h("strong", {}, visible(request.prompt)));
    }
    const high = request.risk === "high";
    const title = t("wantsToRun", visible(toolName(request)), false); // the chip tells the risk
    return h(
      "p",
      { class: "request-title" },
      icon(high ? "warning" : "question"),
      h("strong", {}, title),
      h("span", { class: `chip ${high ? "risk" : "plain"}` }, t(high ? "riskHigh" : "riskLow")),
    );
  }

  // Whose wish it is: the model, and where it runs.
  #asker() {
    const routed = this.context.routed(this.request.turnId);
    if (!routed || this.request.kind === "choice") return null;
    const { route, provider, model, host } = routed;
    return h(
      "p",
      { class: "request-asker" },
      h("span", { class: `chip ${route}` }, icon(route === "local" ? "house" : "cloud"), t(`route.${route}`)),
      h("span", { dir: "auto" }, t("askedBy", visible(model ?? provider), host ? visible(host) : null)),
    );
  }

  #offer() {
    const { request } = this;
    if (request.kind === "choice") {
      this.buttons.replaceChildren(
        ...request.options.map((option) =>
          this.#button(visible(option), () => this.context.choose(request, option), "option"),
        ),
      );
      return;
    }
    this.buttons.replaceChildren(
      this.#button(t("reject"), () => this.#answer("reject_once")),
      this.#button(t("allowOnce"), () => this.#answer("allow_once")),
      this.#button(t("always"), () => this.#confirmAlways()),
    );
  }

  // Asks again, naming what would be allowed and where.
  #confirmAlways() {
    const question = h("p", { class: "always-question" }, t("alwaysQuestion", visible(toolName(this.request))));
    const back = this.#button(t("back"), () => this.#offer());
    this.buttons.replaceChildren(question, back, this.#button(t("alwaysAllow"), () => this.#answer("allow_always")));
    back.focus({ preventScroll: true });
    this.armed.disturb();
  }

  #answer(answer) {
    this.context.answer(this.request, answer);
  }

  #button(label, act, kind = "") {
    return h(
      "button",
      {
        type: "button",
        class: kind,
        dir: "auto",
        onclick: (event) => {
          if (!this.context.isLive() || this.sent) return;
          this.tooSoon = !this.armed.accepts(event); // told: silence would look like a broken button
          if (this.tooSoon) this.update();
          else act();
        },
      },
      label,
    );
  }

  // With the focus inside: R rejects, A allows once. Nothing for always.
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const key = event.key.toLowerCase();
    const answer = { r: "reject_once", a: "allow_once" }[key];
    if (!answer || this.request.kind !== "permission" || !this.isOpen) return;
    event.preventDefault();
    if (this.armed.isArmed && this.context.isLive() && !this.sent) this.#answer(answer);
  }

  // The frame is out, the server has not said yet how it ended.
  markSent(sent) {
    this.sent = sent;
    this.update();
  }
}

export const toolName = (request) => request.tool?.replace("__", ".") ?? "";

// Who decided, and how.
export function decision(request, { deviceIsHere }) {
  const { resolved } = request;
  if (!resolved) return t("decided.nobody");
  const outcome =
    request.kind === "choice"
      ? resolved.option === null
        ? t("notChosen")
        : t("chosen", visible(resolved.option))
      : t(`outcome.${resolved.outcome}`);
  return `${outcome} ${decider(resolved, deviceIsHere)}`.trim();
}

function decider(resolved, deviceIsHere) {
  if (resolved.device) return t(deviceIsHere(resolved.device) ? "decided.here" : "decided.elsewhere");
  if (resolved.rule) return t("decided.rule");
  if (resolved.policy) return t("decided.policy", t(`policy.${resolved.policy}`));
  return "";
}

function yieldFocusIf(condition, element, to) {
  if (condition) yieldFocus(element, to);
}

export const details = (request) => argumentLines(request.details);

export const remaining = (request, offset) => timeLeft(request, Date.now(), offset);
