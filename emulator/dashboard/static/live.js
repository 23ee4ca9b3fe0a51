// Follows the server's event stream and redraws from the page's own address: one redraw at a time, ten a second at most.
import { insertAtClick, refreshList } from "./list.js";
import { morph } from "./morph.js";
import { setClock, tick } from "./tick.js";

const JOINED_MS = 100;
const SILENT_MS = 3000;
let dirty = false;
let busy = false;
let pause = JOINED_MS;

let silent = 0;

/** After some seconds without an answer the page says that it shows the past. */
function stopped(is) {
  clearTimeout(silent);
  const notice = document.getElementById("stopped");
  if (notice) notice.hidden = !is;
}

function say(state, text) {
  const chip = document.getElementById("live");
  if (!chip) return;
  chip.dataset.state = state;
  const words = chip.querySelector("[data-live-text]");
  if (words && words.textContent !== text) words.textContent = text;
}

/** Redraws soon; calls while a redraw is under way are joined into one more. */
export function refresh() {
  dirty = true;
  if (busy || document.hidden) return;
  busy = true;
  redraw().finally(() => {
    setTimeout(() => { busy = false; if (dirty) refresh(); }, pause);
  });
}

async function redraw() {
  dirty = false;
  const began = performance.now();
  try {
    await draw();
    if (document.getElementById("live")?.dataset.state === "lost") say("live", "Live");
    // Ten redraws a second at most; under a storm of changes the page takes a third of the time.
    const took = performance.now() - began;
    pause = Math.max(JOINED_MS - took, 2 * took);
  } catch {
    say("lost", "Server not reached, trying again");
    dirty = true;
    pause = 1000;
  }
}

async function draw() {
  const list = document.getElementById("rows");
  const address = new URL(location.href);
  if (list) address.searchParams.set("shown", [...list.children].map((row) => row.dataset.key).join("."));
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (answer.status >= 500) throw new Error(`answer ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  setClock(page.documentElement);
  if (list) refreshList(page);
  for (const id of ["main", "side", "state"]) {
    const from = document.getElementById(id);
    const to = page.getElementById(id);
    if (from && to) morph(from, to);
  }
  tick();
  document.dispatchEvent(new CustomEvent("redrawn"));
}

/** Links to the same page with something else chosen (a tab, a step) change it in place. */
function followInPlace(event) {
  const link = event.target.closest?.("#main a[href]");
  // A page of the list replaces all of its rows: that is a new page.
  if (!link || document.getElementById("rows") || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const target = new URL(link.href);
  if (target.origin !== location.origin || target.pathname !== location.pathname || link.hasAttribute("download")) return;
  event.preventDefault();
  history.pushState(null, "", target.pathname + target.search + target.hash);
  const focused = link.id || link.getAttribute("href");
  dirty = true;
  redraw().then(() => {
    const again = document.getElementById(focused) || document.querySelector(`#main a[href="${CSS.escape(focused)}"]`);
    if (document.activeElement === document.body) (again || document.getElementById("main")).focus({ preventScroll: true });
    const moment = target.hash.startsWith("#entry-") ? document.getElementById(target.hash.slice(1)) : null;
    if (moment) moment.scrollIntoView({ block: "center" });
    else document.getElementById("panel")?.scrollIntoView({ block: "nearest" });
  });
}

export function startLive() {
  const root = document.documentElement;
  if (!root.dataset.watch) return;
  document.addEventListener("click", followInPlace);
  window.addEventListener("popstate", refresh);
  insertAtClick(refresh);
  const source = new EventSource(`${root.dataset.base}/stream?watch=${root.dataset.watch}&from=${root.dataset.revision}`);
  source.addEventListener("open", () => { stopped(false); say("live", "Live"); });
  source.addEventListener("change", refresh);
  source.addEventListener("stopped", () => { stopped(true); say("lost", "Stopped"); });
  source.addEventListener("error", () => {
    if (document.getElementById("stopped")?.hidden === false) return;
    say("lost", "Connection lost, trying again");
    clearTimeout(silent);
    silent = setTimeout(() => stopped(true), SILENT_MS);
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && dirty) refresh(); });
  window.addEventListener("pagehide", () => source.close());
}
