// Telling someone who looks elsewhere that a person is needed: the title and the icon of the tab, the
// badge of an installed page, and, only if the reader asked for it, a notification without what the model wrote.

import { visible } from "../core/text.js";
import { t } from "../i18n/index.js";
import { prefs } from "./prefs.js";

let told = new Set();

// `requests`: those that wait, of the live state and never of the replay.
export function personNeeded(requests, title) {
  const count = requests.length;
  const page = title ? `${visible(title)} \u2013 Mead` : "Mead";
  document.title = count ? `(${count}) ${t("needsYou")} \u2013 ${page}` : page;
  const link = document.querySelector("link[rel=icon]");
  const file = new URL(count ? "../icon-waiting.svg" : "../icon.svg", import.meta.url).href;
  if (link.href !== file) link.href = file;
  if (navigator.setAppBadge) {
    (count ? navigator.setAppBadge(count) : navigator.clearAppBadge()).catch(() => {});
  }
  const fresh = requests.filter((request) => !told.has(request.id));
  told = new Set(requests.map((request) => request.id));
  if (!document.hidden || !prefs().notify || globalThis.Notification?.permission !== "granted") return;
  for (const request of fresh) {
    try {
      const note = new Notification(t("needsYou"), {
        body: request.tool ? t("wantsToRun", visible(request.tool.replace("__", ".")), request.risk === "high") : t("asksYou"),
        tag: request.id,
      });
      note.onclick = () => window.focus();
    } catch {
      return; // some browsers allow it from a service worker alone
    }
  }
}

// Only after a click: the browser asks the reader.
export async function allowNotifications() {
  if (!("Notification" in globalThis)) return false;
  return (await Notification.requestPermission()) === "granted";
}
