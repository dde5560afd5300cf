// A conversation without a turn: where prompts will go, what tools may do, and three to begin with.

import { t } from "../i18n/index.js";
import { h } from "../ui/dom.js";
import { icon } from "../ui/icons.js";
import { slotText } from "./composer.js";

export function emptyState({ info, policyLevel, fill }) {
  const slots = ["local", "cloud"].map((name) => [name, info?.slots?.[name]]).filter(([, slot]) => slot);
  return h(
    "div",
    { class: "empty" },
    h("h2", {}, t("emptyTitle")),
    h(
      "ul",
      { class: "slots" },
      ...slots.map(([name, slot]) =>
        h(
          "li",
          {},
          h("span", { class: `chip ${name}` }, icon(name === "local" ? "house" : "cloud"), t(`route.${name}`)),
          h("span", {}, slotText(name, slot)),
        ),
      ),
      slots.length || !info ? null : h("li", {}, t("noSlots")),
    ),
    policyLevel ? h("p", { class: "meta" }, `${t(`policy.${policyLevel}`)}: ${t(`policyMeans.${policyLevel}`)}`) : null,
    h(
      "div",
      { class: "starters" },
      ...[1, 2, 3].map((each) =>
        h("button", { type: "button", class: "starter", onclick: () => fill(t(`starter.${each}`)) }, t(`starter.${each}`)),
      ),
    ),
  );
}
