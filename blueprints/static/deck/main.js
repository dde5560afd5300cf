// The beginning: who may come in, which conversation is open, and who tells whom.

import { Api } from "./net/api.js";
import { forgetToken, keepToken, readField, signIn, takeCode, token } from "./net/auth.js";
import { Tabs } from "./net/tabs.js";
import { chooseLanguage, t } from "./i18n/index.js";
import { applyTheme, onPrefs, prefs, reloadPrefs } from "./ui/prefs.js";
import { h } from "./ui/dom.js";
import { Page } from "./page.js";
import { SignIn } from "./views/signin.js";

const code = takeCode(); // before anything else, so that it is nowhere else
const root = document.getElementById("app");
let page = null;
let signInView = null;

const api = new Api(token, () => signedOut({ tell: false, fault: "ended" }));
const tabs = new Tabs(
  {
    signedOut: () => signedOut({ tell: false }),
    list: () => page?.refreshList(),
    draft: ({ sessionId, text }) => page?.otherDraft(sessionId, text),
    prefs: () => reloadPrefs(),
    wantsToken: ({ id }) => {
      if (!page) return;
      page.offerToken(id, () => tabs.grant(id));
      tabs.tell("tokenOffered", { id });
    },
    tokenSettled: (id) => page?.tokenSettled(id),
  },
  token,
);

function look() {
  chooseLanguage(prefs().language);
  applyTheme();
}

onPrefs(() => {
  look();
  page?.translate();
  signInView?.render();
});

function showPage() {
  signInView = null;
  page = new Page(root, { api, tabs, signOut: () => signedOut() });
  page.start();
}

function showSignIn(fault = null) {
  document.title = `${t("signIn")} \u2013 Mead`;
  const place = h("div", {});
  root.replaceChildren(place);
  signInView = new SignIn(place, { signIn: (text) => enter(readField(text)) });
  signInView.fault = fault;
  signInView.focus();
  tabs.askForToken((given) => {
    if (!signInView) return;
    keepToken(given);
    showPage();
  }, () => signInView?.offered());
}

async function enter(what) {
  const fault = await signIn(api, what);
  if (fault === null) showPage();
  else if (signInView) signInView.fault = fault;
  else showSignIn(fault);
}

// By the reader, by another tab, or because the token is not taken any more (that of another tab may
// be). Drafts stay.
function signedOut({ tell = true, fault = null } = {}) {
  forgetToken();
  if (tell) tabs.tell("signedOut");
  page?.leave();
  page = null;
  if (!signInView) showSignIn(fault);
}

// A link that is opened in a tab which shows the page already changes the fragment alone.
addEventListener("hashchange", ({ oldURL }) => {
  const found = takeCode(new URL(oldURL).hash);
  if (found && !page) enter({ code: found });
});

look();
if (code) await enter({ code });
else if (token()) showPage();
else showSignIn();
document.documentElement.dataset.ready = "";
performance.mark("mead-interactive");
