// What an answer that is not whole says of itself: why it ends there, and what one can do.

import { visible } from "../core/text.js";
import { isWhole } from "../core/select.js";
import { t, tCode } from "../i18n/index.js";

// One sentence or two; null for an answer that ended by itself.
export function cutText(turn) {
  if (turn.status !== "completed" || isWhole(turn.stopReason)) return null;
  const known = tCode("cut", turn.stopReason);
  return known === turn.stopReason ? t("cutOther", visible(turn.stopReason)) : known;
}
