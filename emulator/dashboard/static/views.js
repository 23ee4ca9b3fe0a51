// Saved views: named list addresses, stored in this browser.

const KEY = "stepwell-views";
const read = () => { try { return JSON.parse(localStorage.getItem(KEY)) || []; } catch { return []; } };

export function startViews() {
  const place = document.querySelector("[data-saved-views]");
  if (place) draw(place);
}

function draw(place) {
  const views = read();
  const here = location.search;
  const nodes = views.map((view) => {
    const link = document.createElement("a");
        link.href = `${document.documentElement.dataset.base}${view.search}`;
    link.textContent = view.name;
    if (view.search === here) link.setAttribute("aria-current", "true");
    return link;
  });
  const known = views.find((view) => view.search === here);
  if (here || known) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "b";
    button.textContent = known ? "Delete this view" : "Save this view";
    button.addEventListener("click", () => { known ? forget(known) : save(here); draw(place); });
    nodes.push(button);
  }
  if (!nodes.length) nodes.push(Object.assign(document.createElement("p"), { className: "cap", textContent: "Filter the list, then save it here" }));
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
