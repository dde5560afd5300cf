// What the reader writes: the composer, what of it waits, and the drafts.

import { lastPrompt } from "./core/select.js";
import { t, tCode } from "./i18n/index.js";
import { Drafts } from "./net/drafts.js";
import { h } from "./ui/dom.js";
import { Composer } from "./views/composer.js";
import { Queue } from "./views/queue.js";

export class Prompting {
  // `conversation`; `shell` and `live`, which tell; `tabs`; `sent()` after a prompt has gone.
  constructor({ conversation, shell, live, tabs, sent }) {
    Object.assign(this, { conversation, shell, live, tabs, sent });
    this.drafts = new Drafts((sessionId, text) => tabs.tell("draft", { sessionId, text }));
    this.composer = new Composer({
      send: (text, route) => this.#send(text, route),
      stop: () => this.stop(),
      changed: (draft) => this.drafts.keep(conversation.sessionId, draft),
      editLast: () => this.#editLast(),
      say: (text) => live.say(text),
    });
    this.queue = new Queue(
      {
        cancel: (turn) => conversation.cancelPrompt(turn),
        edit: (turn) => conversation.cancelPrompt(turn) && this.edit(turn.prompt ?? "", turn.askedRoute),
        resend: (entry) => (conversation.resend(entry.id), this.update()),
        discard: (entry) => (conversation.outbox.settle(entry.id), this.update()),
      },
      () => this.composer.text,
    );
  }

  // Another conversation is open.
  show(sessionId) {
    this.composer.canSend = true;
    this.composer.show(this.drafts.read(sessionId));
    if (!sessionId) this.composer.text.focus({ preventScroll: true });
  }

  translate() {
    this.composer.translate();
    this.queue.retranslate();
  }

  update() {
    const { state } = this.conversation;
    const turns = state.queue.map((id) => state.turns.get(id)).filter(Boolean);
    this.queue.update(turns, this.conversation.unsent());
  }

  // -- what the reader does ------------------------------------------------------------------------

  #send(text, route) {
    this.conversation.send(text, route);
    this.composer.fill({ text: "" });
    this.drafts.clear(this.conversation.sessionId);
    this.update();
    this.sent();
  }

  stop() {
    if (!this.conversation.stop()) return;
    const waiting = this.conversation.state.queue.length;
    this.live.say(waiting ? t("stoppedQueueGoesOn", waiting) : t("stopping"));
    if (waiting) this.shell.tell(t("stoppedQueueGoesOn", waiting));
  }

  edit(text, route) {
    const draft = this.composer.draft;
    if (draft.text.trim() && draft.text !== text) {
      const back = h("button", { type: "button", class: "small", onclick: () => (this.composer.fill(draft), note.remove()) }, t("undo"));
      const note = this.shell.tell(t("draftReplaced"), back);
    }
    this.composer.fill({ text, route: route ?? draft.route });
  }

  #editLast() {
    const text = lastPrompt(this.conversation.state);
    if (text !== null) this.edit(text, null);
  }

  newFromDraft() {
    const draft = this.composer.draft;
    location.hash = "#/";
    setTimeout(() => this.composer.fill(draft));
  }

  // -- what the server says ------------------------------------------------------------------------

  accepted() {
    this.update();
    this.tabs.tell("list");
  }

  // The text goes back to where it was written, before what was typed since.
  rejected(entry, reason) {
    this.update();
    this.shell.warn(tCode("rejected", reason));
    this.shell.tell(tCode("rejected", reason));
    if (!entry) return;
    const { text, route } = this.composer.draft;
    this.composer.fill({ text: text ? `${entry.text}\n\n${text}` : entry.text, route: entry.route ?? route });
  }

  refused(reason, type) {
    if (reason === "already_finished" || reason === "unknown_id") return; // it has ended meanwhile
    this.shell.tell(`${t("notDone")} (${[type, reason].filter(Boolean).join(": ")})`);
  }

  // Another tab has written.
  otherDraft(sessionId, text) {
    const isWritten = document.hasFocus() && document.activeElement === this.composer.text;
    if (sessionId !== this.conversation.sessionId || isWritten) return;
    if (text !== this.composer.text.value) this.composer.show({ text });
  }
}
