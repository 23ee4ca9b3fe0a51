// Zooming: drag over the bars, or over the map of the whole run, whose window can be moved. The server draws the range.
import { visit } from "./live.js";

let drag = null;

export function startZoom() {
  addEventListener("pointerdown", begin);
  addEventListener("pointermove", (event) => { if (drag) move(event); });
  addEventListener("pointerup", (event) => { if (drag) end(event); });
  addEventListener("dragstart", (event) => { if (drag) event.preventDefault(); });
}

function begin(event) {
  const map = event.target.closest?.("[data-map] svg");
  const track = map ?? event.target.closest?.("tr")?.querySelector("[data-zoom]");
  if (event.button || !track || (!map && event.pointerType !== "mouse")) return;
  const { left, right } = track.getBoundingClientRect();
  if (event.clientX < left || event.clientX > right) return;
  const x = share(track, event);
  const box = map?.querySelector("[data-window]");
  const [start, width] = box ? ["x", "width"].map((name) => parseFloat(box.getAttribute(name)) / 100) : [2, 0];
  drag = { track, x, offset: x >= start && x <= start + width ? x - start : null, width };
}

/** The range that is dragged over, or to which the map's window is moved. */
function range(event) {
  const { track, x, offset, width } = drag;
  const at = share(track, event);
  if (offset === null) return at < x ? [at, x] : [x, at];
  const left = Math.max(0, Math.min(1 - width, at - offset));
  return [left, left + width];
}

function move(event) {
  drag.moved ||= Math.abs(share(drag.track, event) - drag.x) > 0.01;
  if (!drag.moved) return;
  const [a, b] = range(event);
  const rect = drag.track.querySelector(".brush") ?? drag.track.appendChild(document.createElementNS(drag.track.namespaceURI, "rect"));
  rect.setAttribute("class", "brush");
  rect.setAttribute("height", "100%");
  rect.setAttribute("x", `${a * 100}%`);
  rect.setAttribute("width", `${(b - a) * 100}%`);
}

function end(event) {
  const { track, moved } = drag;
  const [a, b] = range(event);
  drag = null;
  track.querySelector(".brush:not([data-window])")?.remove();
  if (!moved) return;
  // The row under the pointer is a link.
  addEventListener("click", stop, { capture: true, once: true });
  setTimeout(() => removeEventListener("click", stop, true));
  const address = new URL(location.href);
  address.searchParams.set("zoom", `${a.toFixed(4)}-${b.toFixed(4)}`);
  address.searchParams.set("within", track.dataset.zoom ?? "");
  visit(address);
}

function stop(event) {
  event.preventDefault();
  event.stopPropagation();
}

function share(track, event) {
  const box = track.getBoundingClientRect();
  return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
}
