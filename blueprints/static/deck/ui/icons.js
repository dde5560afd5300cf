// Icons: paths of 20 by 20, drawn with the colour of the text beside them. A word always stands
// beside an icon or in its button's label, so it is hidden from screen readers.

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  plus: "M10 4v12M4 10h12",
  house: "M3.5 9.5 10 4l6.5 5.5M5.5 8.5V16h9V8.5M8.5 16v-4h3v4",
  cloud: "M6 15.5h8a3.2 3.2 0 0 0 .4-6.4A4.6 4.6 0 0 0 5.6 8 3.8 3.8 0 0 0 6 15.5Z",
  fork: "M3.5 10H8l4-5h4.5M8 10l4 5h4.5M14 2.5 16.5 5 14 7.5M14 12.5l2.5 2.5-2.5 2.5",
  lock: "M5.5 9h9v7h-9zM7.5 9V6.5a2.5 2.5 0 0 1 5 0V9",
  warning: "M10 3.5 17.5 16.5h-15zM10 8.5v3.5M10 14.2v.2",
  tool: "M12.5 3.5a4 4 0 0 0-3.6 5.7L3.5 14.6l1.9 1.9 5.4-5.4a4 4 0 0 0 5.2-5L13.6 8.5 11.5 6.4l2.4-2.4a4 4 0 0 0-1.4-.5Z",
  eye: "M2.5 10S5 5 10 5s7.5 5 7.5 5-2.5 5-7.5 5-7.5-5-7.5-5ZM10 12.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4Z",
  pen: "M4 16l.8-3.2L13 4.6l2.4 2.4-8.2 8.2z",
  copy: "M7 7h9v9H7zM4 13V4h9",
  check: "M4 10.5 8 14.5 16 6",
  cross: "M5 5l10 10M15 5 5 15",
  stop: "M5.5 5.5h9v9h-9z",
  send: "M10 16V4M5 9l5-5 5 5",
  down: "M10 4v12M5 11l5 5 5-5",
  menu: "M3 6h14M3 10h14M3 14h14",
  more: "M4.5 10h.1M10 10h.1M15.5 10h.1",
  question: "M7.3 7.5a2.7 2.7 0 1 1 3.9 2.4c-.9.5-1.2 1-1.2 1.9M10 14.8v.2",
  clock: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 6v4l2.7 1.8",
  chart: "M4 16V9M8 16V4M12 16v-5M16 16V7",
  gear: "M10 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM10 2.5v2.2M10 15.3v2.2M2.5 10h2.2M15.3 10h2.2M4.7 4.7l1.6 1.6M13.7 13.7l1.6 1.6M4.7 15.3l1.6-1.6M13.7 6.3l1.6-1.6",
  image: "M3.5 4.5h13v11h-13zM3.5 13l3.5-3.5 3 3 2.5-2 4 3.5",
  info: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 9.2V14M10 6.5v.2",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
