// The event stream of the server. Reopened when it breaks or stays silent for too long.
import { engineNow, zone } from "./tick.js";
import { timeOfDay } from "./time.js";

/** So long after the line has broken the page says that it shows the past. */
const BROKEN_MS = 3000;
const AGAIN_MS = 1000;

let source = null;
let shared = null;
let isAlone = false; // the shared worker could not be loaded
let watched = "";
let since = "";
let changed = () => {};
let patience = 0; // how long the server may say nothing, by what it says itself
let timer = 0;
let trouble = ""; // why the page is not live

/** Calls back when what the page is about has changed, or may have while the line was down. */
export function listen(callback) {
  const { watch, revision } = document.documentElement.dataset;
  if (!watch) return;
  changed = callback;
  watched = watch;
  since = revision;
  document.addEventListener("visibilitychange", turn);
  window.addEventListener("pageshow", (event) => { if (event.persisted) turn(); });
  turn();
}

/** Follows something else from now on; for a page that has become another one. */
export function follow({ watch, revision }) {
  if (!watch || watch === watched) return;
  watched = watch;
  since = revision;
  connect();
}

/** A hidden page holds no line: where pages do not share one, its other pages would wait for it. */
function turn() {
  if (!document.hidden) { connect(); return; }
  leave();
}

function leave() {
  clearTimeout(timer);
  trouble = "";
  shared?.port.postMessage({ leave: true });
  source?.close();
}

/** All pages of a browser share one line where it has shared workers; else each has its own. */
function connect(again = false) {
  const { base, lines } = document.documentElement.dataset;
  if (window.SharedWorker && !isAlone) {
    shared ??= share(lines);
    shared.port.postMessage({ watch: watched, since, base, again });
    return;
  }
  source?.close();
  source = new EventSource(`${base}/stream?watch=${watched}&from=${since}`);
  for (const type of ["open", "beat", "change", "stopped", "error"]) {
    source.addEventListener(type, ({ data, lastEventId }) => hear({ type, data, id: lastEventId }));
  }
}

function share(lines) {
  const worker = new SharedWorker(lines);
  worker.port.onmessage = ({ data }) => { if (!document.hidden) hear(data); };
  worker.addEventListener("error", () => { isAlone = true; connect(); });
  window.addEventListener("pagehide", leave);
  return worker;
}

function hear({ type, data, id }) {
  if (type === "stopped") return stopped();
  if (type === "error") return broken();
  if (type === "beat") patience = 2 * Number(data);
  if (type === "change") since = id;
  heard();
  if (type === "change") changed();
}

function heard() {
  clearTimeout(timer);
  if (patience) timer = setTimeout(silence, patience);
  if (trouble) document.dispatchEvent(new CustomEvent("reached"));
  trouble = "";
  past(false);
  say();
}

function stopped() {
  clearTimeout(timer);
  trouble = "Stopped";
  past(true);
  say();
}

/** The browser tries again by itself, and says so each time: only the first time begins the wait. */
function broken() {
  if (source?.readyState === EventSource.CLOSED) setTimeout(() => { if (!document.hidden) connect(); }, AGAIN_MS);
  if (trouble) return;
  trouble = "Reconnecting…";
  clearTimeout(timer);
  timer = setTimeout(past, BROKEN_MS, true);
  say();
}

/** A server that hangs, or a line that is dead without having been closed. */
function silence() {
  trouble = "Reconnecting…";
  past(true);
  say();
  connect(true);
  timer = setTimeout(silence, patience);
}

function past(is) {
  const notice = document.getElementById("stopped");
  if (!notice || notice.hidden === !is) return;
  notice.querySelector("[data-stopped-at]").textContent = is ? `, from ${timeOfDay(engineNow(), zone())}` : "";
  notice.hidden = !is;
  document.getElementById("main").classList.toggle("stale", is);
}

/** Says how it stands; `problem` is one of the page's own while the line is good. */
export function say(problem = "") {
  const chip = document.getElementById("live");
  const words = chip?.querySelector("[data-live-text]");
  if (!words) return;
  const text = trouble || problem;
  chip.dataset.state = text ? "lost" : "live";
  if (words.textContent !== (text || "Live")) words.textContent = text || "Live";
}
