// Turns per day as bars: local plain, cloud hatched above, so that colour is not all that tells them
// apart. The same numbers stand in a table below, so the picture is hidden from screen readers.

import { day, number, t } from "../i18n/index.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 640;
const HEIGHT = 140;
const FLOOR = 118;
const DAYS = 30;

// `days`: [{ day, turns, local_turns, cloud_turns, ... }], oldest first.
export function chart(days) {
  const shown = lastDays(days, DAYS);
  const most = Math.max(1, ...shown.map((row) => row.turns));
  const step = WIDTH / DAYS;
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", "aria-hidden": "true" });
  svg.append(hatching());
  svg.append(node("line", { x1: 0, x2: WIDTH, y1: FLOOR + 0.5, y2: FLOOR + 0.5, class: "chart-axis" }));
  shown.forEach((row, at) => {
    const x = Math.round(at * step) + 2;
    const width = Math.max(3, Math.floor(step) - 4);
    let below = 0;
    const heightOf = (turns) => Math.round((turns / most) * (FLOOR - 20));
    for (const [kind, turns] of Object.entries(routesOf(row))) {
      if (!turns) continue;
      const [from, to] = [heightOf(below), heightOf(below + turns)];
      svg.append(bar({ x, width, from, to, kind, title: `${day(row.day)}, ${t(`route.${kind}`)}: ${t("turnsCount", turns)}` }));
      below += turns;
    }
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

// Turns of a day by route, from the bottom up. "untold" are those of days that were counted before the
// ledger told them apart.
export function routesOf({ turns, local_turns: local = 0, cloud_turns: cloud = 0 }) {
  return { untold: turns - local - cloud, local, cloud };
}

// A row for each day, also for those on which nothing happened.
export function lastDays(days, count, today = new Date()) {
  const known = new Map(days.map((row) => [row.day, row]));
  return Array.from({ length: count }, (_, at) => {
    const date = new Date(today.getTime() - (count - 1 - at) * 86_400_000).toISOString().slice(0, 10);
    return known.get(date) ?? { day: date, turns: 0 };
  });
}

function bar({ x, width, from, to, kind, title }) {
  const fill = kind === "cloud" ? { fill: "url(#cloud-hatching)" } : {};
  const rect = node("rect", { x, width, y: FLOOR - to, height: Math.max(to - from, 1), class: `chart-bar ${kind}`, ...fill });
  const text = node("title", {});
  text.textContent = title;
  rect.append(text);
  return rect;
}

function hatching() {
  const pattern = node("pattern", { id: "cloud-hatching", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(node("rect", { width: 6, height: 6, class: "hatching-ground" }), node("rect", { width: 3, height: 6, class: "hatching-line" }));
  return pattern;
}

function node(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
