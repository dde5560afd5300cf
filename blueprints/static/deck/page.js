// The page of someone who is signed in: the views, and what passes between them.

import { lastCode, lastPrompt } from "./core/select.js";
import { visible } from "./core/text.js";
import { Conversation } from "./conversation.js";
import { t, tCode } from "./i18n/index.js";
import { Drafts } from "./net/drafts.js";
import { h, setText, show } from "./ui/dom.js";
import { Keys } from "./ui/keys.js";
import { LiveRegion } from "./ui/live.js";
import { personNeeded } from "./ui/notify.js";
import { prefs } from "./ui/prefs.js";
import { ScrollKeeper } from "./ui/scroll.js";
import { Composer } from "./views/composer.js";
import { emptyState } from "./views/empty.js";
import { ConversationList } from "./views/list.js";
import { Manage } from "./views/manage.js";
import { Queue } from "./views/queue.js";
import { Requests } from "./views/requests.js";
import { Settings } from "./views/settings.js";
import { Shell } from "./views/shell.js";
import { Status } from "./views/status.js";
import { Transcript } from "./views/transcript.js";
import { Usage } from "./views/usage.js";

const LIST_EVERY_MS = 10_000;
const END_ROOM_PX = 64; // the empty room below the newest turn

export class Page {
  #info = null;
  #place = null; // where the reader was before a rebuild
  #leaving = new AbortController();
  #timers = [];
  #isNew = true;

  constructor(root, { api, tabs, signOut }) {
    Object.assign(this, { api, tabs });
    this.shell = new Shell(root, {
      manage: () => this.#manageOpen(),
      settings: () => this.settings.open(),
      more: () => this.scroll.followNow({ toEnd: true }),
    });
    this.live = new LiveRegion(this.shell.polite);
    this.drafts = new Drafts((sessionId, text) => tabs.tell("draft", { sessionId, text }));
    this.conversation = new Conversation(api, this.#conversationView());
    this.requests = new Requests({
      conversation: this.conversation,
      shell: this.shell,
      edit: (turn) => this.#edit(turn.prompt ?? "", turn.askedRoute),
      composer: () => this.composer.text,
      scroll: () => this.scroll,
    });
    this.#makeViews(signOut);
    this.#listen();
  }

  // -- making --------------------------------------------------------------------------------------

  #makeViews(signOut) {
    const { shell, conversation, tabs } = this;
    const toComposer = () => this.composer.text;
    this.transcript = new Transcript({
      list: shell.turns,
      olderButton: shell.older,
      context: this.requests.context,
      getState: () => conversation.state,
      fetchOlder: () => conversation.fetchOlder(),
      onPainted: () => this.#painted(),
    });
    this.scroll = new ScrollKeeper(shell.scroller, shell.turns, {
      target: () => this.#followTarget(),
      wantsEnd: () => prefs().followTo === "end",
      onMove: () => this.#moved(),
    });
    this.composer = new Composer({
      send: (text, route) => this.#send(text, route),
      stop: () => this.#stop(),
      changed: (draft) => this.drafts.keep(conversation.sessionId, draft),
      editLast: () => this.#editLast(),
    });
    this.queue = new Queue(
      {
        cancel: (turn) => conversation.cancelPrompt(turn),
        edit: (turn) => conversation.cancelPrompt(turn) && this.#edit(turn.prompt ?? "", turn.askedRoute),
        resend: (entry) => (conversation.resend(entry.id), this.#updateQueue()),
        discard: (entry) => (conversation.outbox.settle(entry.id), this.#updateQueue()),
      },
      toComposer,
    );
    this.status = new Status({ retry: () => conversation.connection.retryNow(), newFromDraft: () => this.#newFromDraft() });
    shell.bar.append(this.status.element);
    shell.dock.append(this.status.banner, this.requests.dock.element, this.queue.element, this.composer.element);
    this.list = new ConversationList(shell.list, {
      create: () => this.#create(),
      manage: (row) => this.manage.open(row),
      usage: () => this.usage.open(),
      settings: () => this.settings.open(),
      close: () => shell.toggleList(false),
    });
    this.manage = new Manage({
      api: this.api,
      isOpen: (id) => id === conversation.sessionId,
      leave: () => (location.hash = "#/"),
      renamed: (id, title) => this.list.patch(id, { title }),
      removed: (id) => this.list.drop(id),
      changed: () => (this.refreshList(), tabs.tell("list")),
    });
    this.usage = new Usage(() => this.api.usage());
    this.settings = new Settings({
      conversation: () => this.#policyState(),
      policy: (level) => conversation.policy(level),
      forget: (tool) => conversation.forget(tool),
      signOut,
    });
  }

  #conversationView() {
    return {
      status: (status) => this.#statusChanged(status),
      session: (id) => this.#gotSession(id),
      snapshot: ({ rebuild }) => this.#snapshot(rebuild),
      replayed: () => this.#replayed(),
      turn: (turnId) => this.transcript.touch(turnId),
      head: (event) => this.#head(event),
      accepted: () => this.#accepted(),
      rejected: (entry, reason) => this.#rejected(entry, reason),
      refused: (reason, type) => this.#refused(reason, type),
      spoken: (turnId, isOver) => this.live.heard(turnId, this.conversation.textOf(turnId), isOver),
    };
  }

  #listen() {
    const { signal } = this.#leaving;
    addEventListener("hashchange", () => this.#route(), { signal });
    addEventListener("focus", () => this.refreshList(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || this.refreshList(), { signal });
    this.shell.scroller.addEventListener("scroll", () => this.#scrolled(), { signal, passive: true });
    this.keys = new Keys({
      help: () => this.settings.open("keys"),
      search: () => (this.shell.toggleList(true), this.list.focusSearch()),
      new: () => this.#create(),
      copyCode: () => this.#copyCode(),
      composer: () => this.composer.text.focus(),
      regions: () => this.shell.nextRegion(),
      request: () => this.requests.goTo(),
      stop: () => this.#stop(),
      stopHint: () => this.conversation.state.running && this.live.say(t("escAgain")),
    }, signal);
  }

  // -- coming and going ----------------------------------------------------------------------------

  start() {
    this.#route();
    this.refreshList();
    this.#timers.push(setInterval(() => document.hidden || this.refreshList(), LIST_EVERY_MS));
    this.#timers.push(setInterval(() => this.requests.tick(), 1000));
    this.api.info().then((info) => this.#gotInfo(info), () => {});
  }

  leave() {
    this.#leaving.abort();
    this.drafts.flush();
    for (const timer of this.#timers) clearInterval(timer);
    this.conversation.connection.close();
    for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
    personNeeded([], null);
  }

  translate() {
    this.shell.translate();
    this.composer.translate();
    this.list.render();
    this.settings.update();
    this.queue.retranslate();
    this.requests.forget();
    this.transcript.reset();
    this.transcript.all();
    this.#updateHead();
    this.status.tick();
  }

  #gotInfo(info) {
    this.#info = info;
    this.composer.info = info;
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
    this.list.open = id;
    this.composer.canSend = true;
    this.composer.show(this.drafts.read(id));
    this.scroll.followNow();
    this.#updateHead();
    this.#updateEmpty();
    if (!id) this.composer.text.focus({ preventScroll: true });
  }

  #create() {
    this.shell.toggleList(false);
    if (location.hash !== "#/" && location.hash !== "") location.hash = "#/";
    this.composer.text.focus();
  }

  #gotSession(id) {
    this.drafts.move(id);
    this.tabs.tell("list");
    this.list.patch(id, { title: null, running: true });
    this.list.open = id;
    history.replaceState(null, "", `#/c/${id}`);
  }

  #newFromDraft() {
    const draft = this.composer.draft;
    location.hash = "#/";
    setTimeout(() => this.composer.fill(draft));
  }

  async refreshList() {
    try {
      const { sessions } = await this.api.sessions();
      this.list.rows = sessions;
    } catch (error) {
      if (error.status !== 401) this.list.failed = true;
    }
  }

  // -- what the conversation tells -----------------------------------------------------------------

  #statusChanged(status) {
    this.status?.set(status);
    if (!this.composer) return;
    if (status.kind === "deleted") {
      this.transcript.quiet = false;
      this.shell.root.classList.add("deleted");
      this.composer.canSend = false;
    } else if (status.kind === "live" || status.kind === "closed") {
      this.shell.root.classList.remove("deleted");
    }
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
    this.composer.limits = state.limits;
    if (state.snapshotSequence > state.sequence) this.transcript.quiet = true;
  }

  #replayed() {
    const { state } = this.conversation;
    if (state.running) this.live.skip(state.running, this.conversation.textOf(state.running));
    this.transcript.quiet = false;
    this.#updateHead();
    if (!this.scroll.restore(this.#place)) this.scroll.settle();
    this.#place = null;
  }

  #head(event) {
    if (event.type === "permission.requested" || event.type === "choice.requested") this.requests.announce(event.payload);
    if (event.type === "turn.failed") this.shell.warn(tCode("failed", event.payload.reason));
    if (event.type === "turn.completed") this.live.say(t("answerDone"));
    if (event.type === "metric.updated") this.usage.refresh();
    if (event.type === "turn.started") this.scroll.settle();
    this.transcript.paint();
    this.#updateHead();
  }

  #accepted() {
    this.#updateQueue();
    this.tabs.tell("list");
  }

  // The text goes back to where it was written, before what was typed since.
  #rejected(entry, reason) {
    this.#updateQueue();
    this.shell.warn(tCode("rejected", reason));
    this.shell.tell(tCode("rejected", reason));
    if (!entry) return;
    const { text, route } = this.composer.draft;
    this.composer.fill({ text: text ? `${entry.text}\n\n${text}` : entry.text, route: entry.route ?? route });
  }

  #refused(reason, type) {
    if (reason === "already_finished" || reason === "unknown_id") return; // it has ended meanwhile
    this.shell.tell(`${t("notDone")} (${[type, reason].filter(Boolean).join(": ")})`);
  }

  // -- showing -------------------------------------------------------------------------------------

  #updateHead() {
    const { state, sessionId } = this.conversation;
    const title = state.title ?? this.list.find(sessionId)?.title ?? null;
    setText(this.shell.title, title ? visible(title) : t(sessionId ? "untitled" : "newConversation"));
    show(this.shell.manage, sessionId !== null);
    show(this.shell.volatile, !state.durable);
    show(this.shell.policy, state.policyLevel !== null);
    setText(this.shell.policy, state.policyLevel ? t(`policy.${state.policyLevel}`) : "");
    this.composer.running = state.running !== null;
    const waiting = this.requests.update(title);
    if (sessionId && state.logId) {
      const change = { turn_running: state.running !== null, pending: waiting.length, queued: state.queue.length };
      this.list.patch(sessionId, { ...change, ...(title ? { title } : {}) });
    }
    this.#updateQueue();
    this.#updateEmpty();
    this.settings.update();
  }

  #updateQueue() {
    const { state } = this.conversation;
    const turns = state.queue.map((id) => state.turns.get(id)).filter(Boolean);
    this.queue.update(turns, this.conversation.unsent());
  }

  #updateEmpty() {
    const { state, sessionId } = this.conversation;
    const isEmpty = state.turns.size === 0 && !this.transcript.isQuiet && this.conversation.unsent().ready.length === 0;
    show(this.shell.emptyBox, isEmpty);
    if (!isEmpty) return;
    const policyLevel = state.policyLevel ?? (sessionId ? null : this.#info?.default_policy_level);
    const fill = (text) => this.composer.fill({ text });
    this.shell.emptyBox.replaceChildren(emptyState({ info: this.#info, policyLevel, fill }));
  }

  #painted() {
    this.scroll.settle();
    this.requests.check();
  }

  // The newest prompt: following ends when it reaches the top.
  #followTarget() {
    return this.shell.turns.lastElementChild;
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

  // -- what the reader does ------------------------------------------------------------------------

  #send(text, route) {
    this.conversation.send(text, route);
    this.composer.fill({ text: "" });
    this.drafts.clear(this.conversation.sessionId);
    this.#updateQueue();
    this.#updateEmpty();
    this.scroll.followNow();
  }

  #stop() {
    if (!this.conversation.stop()) return;
    const waiting = this.conversation.state.queue.length;
    this.live.say(waiting ? t("stoppedQueueGoesOn", waiting) : t("stopping"));
    if (waiting) this.shell.tell(t("stoppedQueueGoesOn", waiting));
  }

  #edit(text, route) {
    const draft = this.composer.draft;
    if (draft.text.trim() && draft.text !== text) {
      const back = h("button", { type: "button", class: "small", onclick: () => (this.composer.fill(draft), note.remove()) }, t("undo"));
      const note = this.shell.tell(t("draftReplaced"), back);
    }
    this.composer.fill({ text, route: route ?? draft.route });
  }

  #editLast() {
    const text = lastPrompt(this.conversation.state);
    if (text !== null) this.#edit(text, null);
  }

  async #copyCode() {
    const source = lastCode(this.conversation.state);
    if (source === null) return this.live.say(t("noCode"));
    await navigator.clipboard.writeText(source).catch(() => {});
    this.live.say(t("copied"));
    return undefined;
  }

  #manageOpen() {
    const id = this.conversation.sessionId;
    if (!id) return;
    const { title } = this.conversation.state;
    this.manage.open({ running: true, ...this.list.find(id), session_id: id, ...(title ? { title } : {}) });
  }

  #policyState() {
    const { state } = this.conversation;
    if (!state.policyLevel) return null;
    return { policyLevel: state.policyLevel, remembered: [...state.remembered].sort(), isLive: this.conversation.isLive };
  }

  // -- what other tabs do --------------------------------------------------------------------------

  otherDraft(sessionId, text) {
    if (sessionId !== this.conversation.sessionId || document.activeElement === this.composer.text) return;
    if (text !== this.composer.text.value) this.composer.show({ text });
  }

  offerToken = (id, grant) => this.shell.ask(id, t("otherTab"), t("allow"), grant);
  tokenSettled = (id) => this.shell.settled(id);
}
