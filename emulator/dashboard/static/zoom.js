// Dragging over the timeline zooms to that range. The server draws it, so the range is part of the address.

let from = null;

export function startZoom() {
  document.addEventListener("pointerdown", (event) => {
    const track = event.target.closest?.("[data-zoom]");
    if (!track || event.button !== 0 || event.target.closest("a, button")) return;
    from = { track, x: share(track, event) };
  });
  document.addEventListener("pointermove", (event) => { if (from) mark(from.track, from.x, share(from.track, event)); });
  document.addEventListener("pointerup", (event) => {
    if (!from) return;
    const { track, x } = from;
    from = null;
    const [a, b] = [x, share(track, event)].sort((one, two) => one - two);
    track.querySelector(".brush")?.remove();
    if (b - a < 0.01) return;
    const address = new URL(location.href);
    address.searchParams.set("zoom", `${a.toFixed(4)}-${b.toFixed(4)}`);
    address.searchParams.set("within", track.dataset.zoom);
    location.href = address;
  });
}

function share(track, event) {
  const box = track.getBoundingClientRect();
  return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
}

function mark(track, a, b) {
  const rect = track.querySelector(".brush") ?? track.appendChild(brush());
  rect.setAttribute("x", `${Math.min(a, b) * 100}%`);
  rect.setAttribute("width", `${Math.abs(b - a) * 100}%`);
}

function brush() {
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  rect.setAttribute("class", "brush");
  rect.setAttribute("height", "100%");
  return rect;
}
