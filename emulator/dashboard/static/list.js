// The live list: rows change in place; new rows wait behind "Show 3 new instances" unless the list is scrolled to the top.

const atTop = () => window.scrollY < 40 && !document.querySelector("#rows tr:hover, #rows :focus-visible, #rows input:checked");

let wanted = false;

/** Prepares the fetched page, so that morphing it moves no row the reader may be looking at. */
export function refreshList(page) {
  const list = document.getElementById("rows");
  const fetched = page.getElementById("rows");
  if (!fetched) return;
  const shown = new Map([...list.children].map((row) => [row.dataset.key, row]));
  const all = new Map([...fetched.children].map((row) => [row.dataset.key, row]));
  const fresh = [...fetched.children].filter((row) => !shown.has(row.dataset.key) && !row.hasAttribute("data-extra"));
  if (wanted || fresh.length === 0 || atTop()) {
    wanted = false;
    announce(0);
    if (fresh.length > 0 || !document.querySelector("#rows tr:hover")) {
      for (const row of fetched.querySelectorAll("[data-extra]")) row.remove();
      return;
    }
  } else {
    announce(fresh.length);
  }
  // The server names what was deleted. A row of which it says nothing stays as it is.
  const deleted = new Set((fetched.dataset.deleted ?? "").split(".").filter(Boolean));
  fetched.replaceChildren(...[...shown].map(([key, row]) => all.get(key) ?? (deleted.has(key) ? gone(row) : row.cloneNode(true))));
}

function gone(row) {
  const copy = row.cloneNode(true);
  copy.classList.add("gone");
  const activity = copy.querySelector(".does");
  if (activity) activity.textContent = "Deleted";
  return copy;
}

function announce(count) {
  const button = document.getElementById("fresh");
  if (!button) return;
  const text = count ? `Show ${count >= 25 ? "25+" : count} new ${count === 1 ? "instance" : "instances"}` : "";
  document.getElementById("fresh-rows").hidden = !count;
  if (button.textContent !== text) button.textContent = text;
}

/** At a click on "Show 3 new instances" they are inserted by the next refresh, which is asked for. */
export function insertAtClick(refresh) {
  document.addEventListener("click", (event) => {
    if (event.target.id !== "fresh") return;
    wanted = true;
    window.scrollTo({ top: 0 });
    refresh();
  });
}
