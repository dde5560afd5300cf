// Turns per day as bars: local plain, cloud hatched when the days tell them apart. The same numbers
// stand in a table below, so the picture is hidden from screen readers.

import { day, number, t } from "../i18n/index.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 640;
const HEIGHT = 140;
const FLOOR = 118;
const DAYS = 30;

// `days`: [{ day, turns, failed, input_tokens, output_tokens }], oldest first.
export function chart(days) {
  const shown = lastDays(days, DAYS);
  const most = Math.max(1, ...shown.map((row) => row.turns));
  const step = WIDTH / DAYS;
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", "aria-hidden": "true" });
  svg.append(node("line", { x1: 0, x2: WIDTH, y1: FLOOR + 0.5, y2: FLOOR + 0.5, class: "chart-axis" }));
  shown.forEach((row, at) => {
    const height = Math.round((row.turns / most) * (FLOOR - 20));
    const failed = row.turns ? Math.round((row.failed / row.turns) * height) : 0;
    const x = Math.round(at * step) + 2;
    const width = Math.max(3, Math.floor(step) - 4);
    if (height) svg.append(bar(x, width, height, 0, "chart-bar", `${day(row.day)}: ${t("turnsCount", row.turns)}`));
    if (failed) svg.append(bar(x, width, failed, 0, "chart-bar failed", t("failedCount", row.failed)));
    if (at % 7 === DAYS % 7 || at === DAYS - 1) {
      const label = node("text", { x: x + width / 2, y: HEIGHT - 6, class: "chart-label", "text-anchor": at === DAYS - 1 ? "end" : "middle" });
      label.textContent = day(row.day);
      svg.append(label);
    }
  });
  const top = node("text", { x: 2, y: 12, class: "chart-label" });
  top.textContent = number(most);
  svg.append(top);
  return svg;
}

// A row for each day, also for those on which nothing happened.
export function lastDays(days, count, today = new Date()) {
  const known = new Map(days.map((row) => [row.day, row]));
  return Array.from({ length: count }, (_, at) => {
    const date = new Date(today.getTime() - (count - 1 - at) * 86_400_000).toISOString().slice(0, 10);
    return known.get(date) ?? { day: date, turns: 0, failed: 0, input_tokens: 0, output_tokens: 0 };
  });
}

function bar(x, width, height, from, kind, title) {
  const rect = node("rect", { x, width, y: FLOOR - from - height, height, rx: 2, class: kind });
  const text = node("title", {});
  text.textContent = title;
  rect.append(text);
  return rect;
}

function node(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
