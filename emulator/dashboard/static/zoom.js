// Zooming: drag over the bars, or over the map of the whole run. The server draws the range, so it is in the address.
import { visit } from "./live.js";

const EDGE_PX = 8;
const LEAST = 0.01;
let drag = null;

export function startZoom() {
  document.addEventListener("pointerdown", begin);
  document.addEventListener("pointermove", (event) => { if (drag) move(share(drag.track, event)); });
  document.addEventListener("pointerup", (event) => { if (drag) end(share(drag.track, event)); });
  document.addEventListener("dragstart", (event) => { if (drag) event.preventDefault(); });
}

function begin(event) {
  if (event.button !== 0) return;
  const map = event.target.closest?.("[data-map] svg");
  const track = map ?? event.target.closest?.("#step-rows tr")?.querySelector("[data-zoom]");
  if (!track || (!map && event.pointerType !== "mouse")) return;
  const box = track.getBoundingClientRect();
  if (event.clientX < box.left || event.clientX > box.right) return;
  const x = share(track, event);
  drag = { track, from: x, moved: false, hold: map ? held(map, x, EDGE_PX / box.width) : null };
}

/** The part of the map's window that is under the pointer: an edge to move it by, or all of it. */
function held(map, x, edge) {
  const rect = map.querySelector("[data-window]");
  if (!rect) return null;
  const [left, width] = ["x", "width"].map((name) => parseFloat(rect.getAttribute(name)) / 100);
  const right = left + width;
  if (Math.abs(x - left) < edge) return { fixed: right };
  if (Math.abs(x - right) < edge) return { fixed: left };
  return x > left && x < right ? { left, width } : null;
}

const clamp = (value) => Math.max(0, Math.min(1, value));

function range(x) {
  const { from, hold } = drag;
  if (hold?.width) {
    const left = Math.max(0, Math.min(1 - hold.width, hold.left + x - from));
    return [left, left + hold.width];
  }
  return [hold ? hold.fixed : from, x].sort((one, two) => one - two);
}

function move(x) {
  if (Math.abs(x - drag.from) > LEAST) drag.moved = true;
  if (!drag.moved) return;
  const [a, b] = range(x);
  const rect = drag.track.querySelector("[data-window], [data-brush]") ?? drag.track.appendChild(brush());
  rect.setAttribute("x", `${a * 100}%`);
  rect.setAttribute("width", `${(b - a) * 100}%`);
}

function end(x) {
  const { track, moved } = drag;
  const [a, b] = range(x);
  drag = null;
  track.querySelector("[data-brush]")?.remove();
  if (!moved || b - a < LEAST) return;
  // The row under the pointer is a link.
  document.addEventListener("click", stop, { capture: true, once: true });
  setTimeout(() => document.removeEventListener("click", stop, { capture: true }), 0);
  const address = new URL(location.href);
  for (const name of ["from", "to"]) address.searchParams.delete(name);
  address.searchParams.set("zoom", `${a.toFixed(4)}-${b.toFixed(4)}`);
  if (track.dataset.zoom) address.searchParams.set("within", track.dataset.zoom);
  visit(address);
}

function stop(event) {
  event.preventDefault();
  event.stopPropagation();
}

function share(track, event) {
  const box = track.getBoundingClientRect();
  return clamp((event.clientX - box.left) / box.width);
}

function brush() {
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  rect.setAttribute("class", "brush");
  rect.setAttribute("height", "100%");
  rect.setAttribute("data-brush", "");
  return rect;
}
