// How long the page keeps its main thread busy at one stretch, in processor time: what a loaded
// machine takes from it does not count. From Chromium's own trace, task by task.

const CATEGORIES = ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline"];

// The tasks of the page's main thread while `act` runs: [{ cpu, inside }], longest first. `cpu` is
// milliseconds; `inside()` names the costliest events within, for the message of a failure.
export async function tasksWhile(browser, page, act) {
  await browser.startTracing(page, { categories: CATEGORIES });
  let trace;
  try {
    await act();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString());
  const isMain = ({ name, args }) => name === "thread_name" && args.name === "CrRendererMain";
  const threads = new Set(traceEvents.filter(isMain).map(threadOf));
  const events = traceEvents.filter((event) => event.tdur !== undefined && threads.has(threadOf(event)));
  return events
    .filter(({ name }) => name.endsWith("RunTask"))
    .map((task) => ({ cpu: cpuOf(task), inside: () => inside(task, events) }))
    .sort((one, other) => other.cpu - one.cpu);
}

const threadOf = ({ pid, tid }) => `${pid} ${tid}`;

// A thread cannot compute for longer than time passed; its clock is read a little later, though.
const cpuOf = ({ tdur, dur }) => Math.min(tdur, dur) / 1000;

const inside = (task, events) =>
  events
    .filter((event) => threadOf(event) === threadOf(task) && event.ts >= task.ts && event.ts + event.dur <= task.ts + task.dur)
    .sort((one, other) => other.tdur - one.tdur)
    .slice(1, 8)
    .map((event) => `${event.name} ${cpuOf(event).toFixed(1)} ms`)
    .join(", ");
