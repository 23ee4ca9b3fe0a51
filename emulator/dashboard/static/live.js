// Follows the server's event stream and reloads the page's contents: one redraw at a time, up to ten per second.
import { insertAtClick, refreshList } from "./list.js";
import { morph } from "./morph.js";
import { follow, listen, say } from "./stream.js";
import { setClock, tick } from "./tick.js";

const JOINED_MS = 100;
const SLOWEST_MS = 300;
let dirty = false;
let busy = false;
let pause = JOINED_MS;

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
  const page = await read().catch(() => null);
  if (!page) {
    say("Reconnecting…");
    dirty = true;
    pause = 1000;
    return;
  }
  say();
  draw(page);
  // Up to ten redraws per second. Under constant changes, redrawing takes a third of the time, but at least
  // three redraws per second.
  const took = performance.now() - began;
  pause = Math.max(JOINED_MS - took, Math.min(2 * took, SLOWEST_MS - took), 0);
}

async function read() {
  const list = document.getElementById("rows");
  const address = new URL(location.href);
  if (list) address.searchParams.set("shown", [...list.children].map((row) => row.dataset.key).join("."));
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (answer.status >= 500) throw new Error(`answer ${answer.status}`);
  if (answer.redirected) history.replaceState(null, "", answer.url);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function draw(page) {
  setClock(page.documentElement);
  document.title = page.title;
  if (document.getElementById("rows")) refreshList(page);
  keepFocus(() => {
    for (const id of ["main", "side"]) {
      const from = document.getElementById(id);
      const to = page.getElementById(id);
      if (from && to) morph(from, to);
    }
  });
  tick();
  follow(page.documentElement.dataset);
  document.dispatchEvent(new CustomEvent("redrawn"));
}

/** What had the focus may be gone after a change: then what it was in has it, and the next Tab goes on from there. */
function keepFocus(change) {
  const around = [];
  for (let node = document.activeElement; node && node !== document.body; node = node.parentElement) around.push(node);
  change();
  if (document.activeElement !== document.body) return;
  const left = around.find((node) => node.isConnected);
  if (!left) return;
  left.tabIndex = -1;
  left.focus({ preventScroll: true });
}

/** The page of an instance changes in place, live or not; of a list only what is live does. */
const inPlace = () => document.documentElement.dataset.watch || document.getElementById("view");

/** Shows another view of the page of an instance in place. */
export function visit(address, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dirty = true;
  return redraw();
}

/** Links to the same page with something else chosen (a tab, a step) change it in place. */
function followInPlace(event) {
  const link = event.target.closest?.("#main a[href]");
  // A page of the list replaces all rows, so load it as a new page.
  if (!link || document.getElementById("rows") || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  // In SVG (the graph), href is an object instead of a string.
  const target = new URL(link.getAttribute("href"), location.href);
  if (target.origin !== location.origin || target.pathname !== location.pathname || link.hasAttribute("download")) return;
  event.preventDefault();
  const focused = link.id || link.getAttribute("href");
  const left = link.hasAttribute("data-close") && document.querySelector("tr.is-open")?.id;
  visit(target.pathname + target.search + target.hash).then(() => {
    if (left) document.querySelector(`#${left} .open-row`)?.focus({ preventScroll: true });
    const again = document.getElementById(focused) || document.querySelector(`#main a[href="${CSS.escape(focused)}"]`);
    if (again && !document.activeElement.matches("a, button, input, select, textarea")) again.focus({ preventScroll: true });
    if (target.hash.startsWith("#entry-")) document.querySelector(target.hash)?.scrollIntoView({ block: "center" });
    if (link.dataset.walk) document.querySelector("tr.is-open")?.scrollIntoView({ block: "nearest" });
  });
}

export function startLive() {
  if (inPlace()) {
    addEventListener("click", followInPlace);
    addEventListener("popstate", refresh);
  }
  if (!document.documentElement.dataset.watch) return;
  insertAtClick(refresh);
  listen(refresh);
  addEventListener("visibilitychange", () => { if (!document.hidden && dirty) refresh(); });
}
