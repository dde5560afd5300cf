// The page of someone who is signed in: its parts, and what passes between them.

import { lastCode } from "./core/select.js";
import { visible } from "./core/text.js";
import { Conversation } from "./conversation.js";
import { t, tCode } from "./i18n/index.js";
import { Panels } from "./panels.js";
import { Prompting } from "./prompting.js";
import { setText, show } from "./ui/dom.js";
import { Keys } from "./ui/keys.js";
import { LiveRegion } from "./ui/live.js";
import { personNeeded } from "./ui/notify.js";
import { prefs } from "./ui/prefs.js";
import { ScrollKeeper } from "./ui/scroll.js";
import { cutText } from "./views/cut.js";
import { emptyState } from "./views/empty.js";
import { Requests } from "./views/requests.js";
import { Shell } from "./views/shell.js";
import { Status } from "./views/status.js";
import { Transcript } from "./views/transcript.js";

const END_ROOM_PX = 64; // the empty room below the newest turn

export class Page {
  #info = null;
  #wasAway = false;
  #place = null; // where the reader was before a rebuild
  #leaving = new AbortController();
  #isNew = true;

  constructor(root, { api, tabs, signOut }) {
    Object.assign(this, { api, tabs });
    this.shell = new Shell(root, {
      manage: () => this.panels.manageOpen(),
      settings: () => this.panels.settings.open(),
      more: () => this.scroll.followNow({ toEnd: true }),
    });
    this.live = new LiveRegion(this.shell.polite);
    this.conversation = new Conversation(api, this.#conversationView());
    this.#makeViews(signOut);
    this.#listen();
  }

  // -- making --------------------------------------------------------------------------------------

  #makeViews(signOut) {
    const { api, shell, conversation, live, tabs } = this;
    this.prompting = new Prompting({ conversation, shell, live, tabs, sent: () => (this.#updateEmpty(), this.scroll.followNow()) });
    this.requests = new Requests({
      conversation,
      shell,
      edit: (turn) => this.prompting.edit(turn.prompt ?? "", turn.askedRoute),
      composer: () => this.prompting.composer.text,
      scroll: () => this.scroll,
      changed: (turnId) => (this.transcript.touch(turnId), this.#head()),
    });
    this.transcript = new Transcript({
      list: shell.turns,
      olderButton: shell.older,
      context: this.requests.context,
      getState: () => conversation.state,
      fetchOlder: () => conversation.fetchOlder(),
      olderFailed: () => shell.tell(t("olderFailed")),
      onPainted: () => this.#painted(),
    });
    this.scroll = new ScrollKeeper(shell.scroller, shell.turns, {
      target: () => shell.turns.lastElementChild, // following ends when the newest prompt is at the top
      wantsEnd: () => prefs().followTo === "end",
      onMove: () => this.#moved(),
    });
    this.status = new Status({ retry: () => conversation.connection.retryNow(), newFromDraft: () => this.prompting.newFromDraft() });
    this.panels = new Panels({ api, shell, conversation, tabs, create: () => this.#create(), signOut });
    shell.bar.append(this.status.element);
    const { queue, composer } = this.prompting;
    shell.above.append(this.status.banner, this.requests.dock.element, queue.element);
    shell.dock.append(composer.element);
  }

  #conversationView() {
    return {
      status: (status) => this.#statusChanged(status),
      session: (id) => this.#gotSession(id),
      snapshot: ({ rebuild }) => this.#snapshot(rebuild),
      replayed: () => this.#replayed(),
      turn: (turnId) => this.transcript.touch(turnId),
      head: (event) => this.#head(event),
      accepted: () => this.prompting.accepted(),
      rejected: (entry, reason) => this.prompting.rejected(entry, reason),
      refused: (reason, type) => this.prompting.refused(reason, type),
      away: () => this.shell.tell(t("notWhileAway")),
      spoken: (turnId, isOver) => this.live.heard(turnId, this.conversation.textOf(turnId), isOver),
    };
  }

  #listen() {
    const { signal } = this.#leaving;
    this.shell.watch(signal);
    addEventListener("hashchange", () => this.#route(), { signal });
    this.shell.scroller.addEventListener("scroll", () => this.#scrolled(), { signal, passive: true });
    this.keys = new Keys({
      help: () => this.panels.settings.open("keys"),
      search: () => (this.shell.toggleList(true), this.panels.list.focusSearch()),
      new: () => this.#create(),
      copyCode: () => this.#copyCode(),
      composer: () => this.prompting.composer.text.focus(),
      regions: () => this.shell.nextRegion(),
      request: () => this.requests.goTo(),
      stop: () => this.prompting.stop(),
      stopHint: () => this.conversation.state.running && this.live.say(t("escAgain")),
    }, signal);
  }

  // -- coming and going ----------------------------------------------------------------------------

  start() {
    const { signal } = this.#leaving;
    this.#route();
    this.panels.start(signal);
    const timer = setInterval(() => (this.requests.tick(), this.transcript.tick()), 1000);
    signal.addEventListener("abort", () => clearInterval(timer));
    addEventListener("focus", () => this.#askInfo(), { signal });
    this.#askInfo();
  }

  // Where prompts go may be another place after the server's restart.
  #askInfo() {
    this.api.info().then((info) => this.#gotInfo(info), () => {});
  }

  leave() {
    this.#leaving.abort();
    this.prompting.drafts.flush();
    this.conversation.connection.close();
    for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
    personNeeded([], null);
  }

  translate() {
    this.shell.translate();
    this.prompting.translate();
    this.panels.translate();
    this.requests.forget();
    this.transcript.reset();
    this.transcript.all();
    this.#updateHead();
    this.status.tick();
  }

  #gotInfo(info) {
    this.#info = info;
    this.prompting.composer.info = info;
    this.#updateEmpty();
  }

  #route() {
    const id = /^#\/c\/([0-9a-f-]{36})$/.exec(location.hash)?.[1] ?? null;
    if (!this.#isNew && id === this.conversation.sessionId) return;
    this.#isNew = false;
    this.requests.forget();
    this.#place = null;
    this.conversation.open(id);
    this.transcript.reset();
    this.transcript.quiet = id !== null;
    this.panels.list.open = id;
    this.prompting.show(id);
    this.scroll.followNow();
    this.#updateHead();
    this.#updateEmpty();
  }

  #create() {
    this.shell.toggleList(false);
    if (location.hash !== "#/" && location.hash !== "") location.hash = "#/";
    this.prompting.composer.text.focus();
  }

  #gotSession(id) {
    this.prompting.drafts.move(id);
    this.tabs.tell("list");
    this.panels.list.patch(id, { title: null, running: true });
    this.panels.list.open = id;
    history.replaceState(null, "", `#/c/${id}`);
  }

  // -- what the conversation tells -----------------------------------------------------------------

  #statusChanged(status) {
    this.status?.set(status);
    if (!this.panels) return; // not made yet
    if (status.kind === "deleted") {
      this.transcript.quiet = false;
      this.shell.root.classList.add("deleted");
      this.prompting.composer.canSend = false;
    } else if (status.kind === "live" || status.kind === "closed") {
      this.shell.root.classList.remove("deleted");
    }
    if (status.kind === "live" && this.#wasAway) this.#askInfo();
    this.#wasAway = status.kind === "waiting" || (this.#wasAway && status.kind !== "live");
    this.requests.connectionChanged(status.kind === "live");
  }

  #snapshot(rebuild) {
    const { state } = this.conversation;
    if (rebuild) {
      this.#place = this.scroll.follow ? null : this.scroll.place;
      this.requests.forget();
      this.transcript.reset();
      this.shell.tell(t("rebuilt"));
    }
    this.prompting.composer.limits = state.limits;
    if (state.snapshotSequence > state.sequence) this.transcript.quiet = true;
  }

  #replayed() {
    const { state } = this.conversation;
    if (state.running) this.live.skip(state.running, this.conversation.textOf(state.running));
    this.transcript.quiet = false;
    this.#updateHead();
    if (!this.transcript.isFilling) this.#place = null;
  }

  #head({ type, payload } = {}) {
    if (type === "turn.failed") this.shell.warn(tCode("failed", payload.reason));
    if (type === "turn.completed") this.live.say(cutText(this.conversation.state.turns.get(payload.turn_id)) ?? t("answerDone"));
    if (type === "metric.updated") this.panels.usage.refresh();
    if (type === "turn.started") this.scroll.settle();
    this.transcript.paint();
    this.#updateHead();
  }

  // -- showing -------------------------------------------------------------------------------------

  #updateHead() {
    const { conversation, shell, panels } = this;
    const { state, sessionId } = conversation;
    const title = state.title ?? panels.list.find(sessionId)?.title ?? null;
    setText(shell.title, title ? visible(title) : t(sessionId ? "untitled" : "newConversation"));
    show(shell.manage, sessionId !== null);
    show(shell.volatile, !state.durable);
    show(shell.policy, state.policyLevel !== null);
    setText(shell.policy, state.policyLevel ? t(`policy.${state.policyLevel}`) : "");
    this.prompting.composer.running = state.running !== null;
    const waiting = this.requests.update(title);
    if (sessionId && state.logId) {
      const change = { turn_running: state.running !== null, pending: waiting.length, queued: state.queue.length };
      panels.list.patch(sessionId, { ...change, ...(title ? { title } : {}) });
    }
    this.prompting.update();
    this.#updateEmpty();
    panels.settings.update();
  }

  #updateEmpty() {
    const { state, sessionId } = this.conversation;
    const isEmpty = state.turns.size === 0 && !this.transcript.isQuiet && this.conversation.unsent().ready.length === 0;
    show(this.shell.emptyBox, isEmpty);
    if (!isEmpty) return;
    const policyLevel = state.policyLevel ?? (sessionId ? null : this.#info?.default_policy_level);
    const fill = (text) => this.prompting.composer.fill({ text });
    this.shell.emptyBox.replaceChildren(emptyState({ info: this.#info, policyLevel, fill }));
  }

  // A place to return to may need several paints until it is there; who scrolls has another one.
  #painted() {
    if (this.scroll.isByReader) this.#place = null;
    if (!this.scroll.restore(this.#place)) this.scroll.settle();
    if (!this.transcript.isFilling) this.#place = null;
    this.requests.check();
  }

  #scrolled() {
    this.transcript.nearTop(this.shell.scroller.scrollTop);
    this.requests.scrolled(this.scroll.isByReader);
  }

  #moved() {
    const { below } = this.scroll;
    show(this.shell.pill, below > END_ROOM_PX);
    const screens = below / this.shell.scroller.clientHeight;
    setText(this.shell.pillText, screens >= 1 ? t("moreScreens", Math.round(screens)) : t("more"));
    if (this.scroll.follow && below <= 24) this.transcript.trim();
  }

  async #copyCode() {
    const source = lastCode(this.conversation.state);
    if (source === null) return this.live.say(t("noCode"));
    await navigator.clipboard.writeText(source).catch(() => {});
    this.live.say(t("copied"));
    return undefined;
  }

  // -- what other tabs do --------------------------------------------------------------------------

  refreshList = () => this.panels.refresh();
  otherDraft = (sessionId, text) => this.prompting.otherDraft(sessionId, text);
  offerToken = (id, grant) => this.shell.ask(id, t("otherTab"), t("allow"), grant);
  tokenSettled = (id) => this.shell.settled(id);
}
