// What stands beside the conversation: the list of all, one's own matters, usage and settings.

import { ConversationList } from "./views/list.js";
import { Manage } from "./views/manage.js";
import { Settings } from "./views/settings.js";
import { Usage } from "./views/usage.js";

const LIST_EVERY_MS = 10_000;

export class Panels {
  // `api`, `shell`, `conversation`, `tabs`; `create()` a new conversation; `signOut()`.
  constructor({ api, shell, conversation, tabs, create, signOut }) {
    Object.assign(this, { api, conversation });
    this.list = new ConversationList(shell.list, {
      create,
      manage: (row) => this.manage.open(row),
      usage: () => this.usage.open(),
      settings: () => this.settings.open(),
      close: () => shell.toggleList(false),
    });
    this.manage = new Manage({
      api,
      isOpen: (id) => id === conversation.sessionId,
      leave: () => (location.hash = "#/"),
      renamed: (id, title) => this.list.patch(id, { title }),
      removed: (id) => this.list.drop(id),
      changed: () => (this.refresh(), tabs.tell("list")),
    });
    this.usage = new Usage(() => api.usage());
    this.settings = new Settings({
      conversation: () => this.#policyState(),
      policy: (level) => conversation.policy(level),
      forget: (tool) => conversation.forget(tool),
      signOut,
    });
  }

  // Fresh until `signal` ends it: when someone looks again, and each ten seconds while they look.
  start(signal) {
    const looked = () => document.hidden || this.refresh();
    addEventListener("focus", () => this.refresh(), { signal });
    document.addEventListener("visibilitychange", looked, { signal });
    const timer = setInterval(looked, LIST_EVERY_MS);
    signal.addEventListener("abort", () => clearInterval(timer));
    this.refresh();
  }

  async refresh() {
    try {
      const { sessions } = await this.api.sessions();
      this.list.rows = sessions;
    } catch (error) {
      if (error.status !== 401) this.list.failed = true;
    }
  }

  translate() {
    this.list.render();
    this.settings.update();
  }

  manageOpen() {
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
}
