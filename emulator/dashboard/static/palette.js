// Ctrl+K: pages, actions of the current page, and instances by part of their id.

let timer = 0;

export function startPalette() {
  const find = document.querySelector("input[data-palette]");
  // Not on focus, so that Tab still moves past it.
  find?.addEventListener("click", () => openPalette());
  find?.addEventListener("input", () => { const typed = find.value; find.value = ""; openPalette(typed); });
}

export function openPalette(typed = "") {
  const dialog = document.getElementById("palette");
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "Search instances, pages, actions";
  input.setAttribute("aria-label", "Go to");
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-expanded", "true");
  input.setAttribute("aria-controls", "palette-list");
  input.autocomplete = "off";
  const list = document.createElement("ul");
  list.id = "palette-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Results");
  dialog.replaceChildren(input, list);
  input.value = typed;
  dialog.showModal();
  input.focus();
  const search = () => {
    const text = input.value;
    show(list, places(text));
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const found = await instances(text).catch(() => null);
      if (text !== input.value) return;
      show(list, [...places(text), ...(found ?? [])]);
      if (!list.children.length) list.append(nothing(found ? "No matching instance, page or action" : "Can't reach the server"));
    }, 120);
  };
  search();
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => steer(event, list));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

function places(text) {
  const wanted = text.trim().toLowerCase();
  const links = [...document.querySelectorAll("#side a, main .actions a, main .actions button:not([disabled])")];
  return links.map((node) => ({ node, name: (node.querySelector(".name") || node).textContent.trim().replace(/\s+/g, " ") }))
    .filter(({ name }) => name && name.toLowerCase().includes(wanted)).slice(0, 9)
    .map(({ node, name }) => ({ name, end: node.tagName === "A" ? "" : "action", url: node.href || "", run: () => node.click() }));
}

async function instances(text) {
  if (!text.trim()) return [];
  const address = `${document.documentElement.dataset.base}/find?id=${encodeURIComponent(text.trim())}`;
  const found = await (await fetch(address, { headers: { Accept: "application/json" } })).json();
  return found.map((one) => ({ name: one.id, end: `${one.workflow} · ${one.status}`, url: one.url }));
}

function nothing(text) {
  const row = document.createElement("li");
  row.setAttribute("role", "option");
  row.setAttribute("aria-disabled", "true");
  row.textContent = text;
  return row;
}

function show(list, entries) {
  list.replaceChildren(...entries.map((entry, index) => {
    const row = document.createElement("li");
    row.setAttribute("role", "option");
    row.id = `go-${index}`;
    row.setAttribute("aria-selected", String(index === 0));
    const end = document.createElement("span");
    end.className = "end";
    end.textContent = entry.end;
    row.append(entry.name, end);
    row.addEventListener("click", () => {
      document.getElementById("palette").close();
      if (entry.url) location.href = entry.url;
      else entry.run();
    });
    return row;
  }));
}

function steer(event, list) {
  const rows = [...list.querySelectorAll("li:not([aria-disabled])")];
  const at = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by && rows.length) {
    event.preventDefault();
    const next = (at + by + rows.length) % rows.length;
    rows.forEach((row, index) => row.setAttribute("aria-selected", String(index === next)));
    rows[next].scrollIntoView({ block: "nearest" });
    event.target.setAttribute("aria-activedescendant", rows[next].id);
  } else if (event.key === "Enter") {
    event.preventDefault();
    rows[at]?.click();
  } else if (event.key === "Escape") {
    // By default, the first Escape would only clear the box.
    event.preventDefault();
    document.getElementById("palette").close();
  }
}
