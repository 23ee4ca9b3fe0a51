// The live list: rows change in place; new rows wait behind "3 new" unless the list is scrolled to the top.

const atTop = () => window.scrollY < 40 && !document.querySelector("#rows:hover, #rows :focus-visible, #rows input:checked");

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
    if (fresh.length > 0 || !document.querySelector("#rows:hover")) {
      for (const row of fetched.querySelectorAll("[data-extra]")) row.remove();
      return;
    }
  } else {
    announce(fresh.length);
  }
  fetched.replaceChildren(...[...shown].map(([key, row]) => all.get(key) || gone(row)));
}

function gone(row) {
  const copy = row.cloneNode(true);
  copy.classList.add("gone");
  const where = copy.querySelector(".where .line");
  if (where) where.textContent = "deleted";
  return copy;
}

function announce(count) {
  const button = document.getElementById("fresh");
  if (!button) return;
  const text = count ? `${count >= 50 ? "50+" : count} new` : "";
  button.hidden = !count;
  if (button.textContent !== text) button.textContent = text;
}

/** At a click on "3 new" they are inserted by the next refresh, which is asked for. */
export function insertAtClick(refresh) {
  document.addEventListener("click", (event) => {
    if (event.target.id !== "fresh") return;
    wanted = true;
    window.scrollTo({ top: 0 });
    refresh();
  });
}
