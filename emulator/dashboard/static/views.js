// Saved views: named list addresses, stored in this browser.
import { element } from "./dom.js";

const KEY = "stepwell-views";
const read = () => { try { return JSON.parse(localStorage.getItem(KEY)) || []; } catch { return []; } };

export function startViews() {
  const place = document.querySelector("[data-saved-views]");
  if (place) draw(place);
}

function draw(place) {
  const views = read();
  const here = location.search;
  const known = views.find(({ search }) => search === here);
  const nodes = views.map(({ name, search }) => {
    const link = element("a", { href: `${document.documentElement.dataset.base}${search}` }, name);
    if (search === here) link.setAttribute("aria-current", "true");
    return link;
  });
  const change = () => { known ? forget(known) : save(here); draw(place); };
  if (here || known) nodes.push(element("button", { type: "button", className: "b", onclick: change }, known ? "Delete this view" : "Save this view"));
  else if (!nodes.length) nodes.push(element("p", { className: "cap" }, "Filter the list, then save it here"));
  place.replaceChildren(...nodes);
}

function save(search) {
  const words = new URLSearchParams(search);
  const name = [words.get("workflow"), ...words.getAll("status"), words.get("q")].filter(Boolean).join(" ") || "view";
  localStorage.setItem(KEY, JSON.stringify([...read(), { name: name.slice(0, 40), search }].slice(-12)));
}

function forget(view) {
  localStorage.setItem(KEY, JSON.stringify(read().filter((one) => one.search !== view.search)));
}
