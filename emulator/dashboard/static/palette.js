// Ctrl+K: actions of the page, instances by part of their id, recent instances, pages; in groups, with their keys.
import { element, icon } from "./dom.js";

const RECENT = "stepwell-recent";
const KEPT = 5;
let timer = 0;

export function startPalette() {
  remember();
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-palette]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openPalette();
  });
}

export function openPalette() {
  const dialog = document.getElementById("palette");
  const label = "Search instances and commands";
  const input = element("input", {
    type: "text", placeholder: label, role: "combobox", autocomplete: "off", spellcheck: false,
    "aria-label": label, "aria-expanded": "true", "aria-controls": "options", "aria-autocomplete": "list",
  });
  const list = element("div", { id: "options", className: "list", role: "listbox", tabIndex: -1, "aria-label": "Results" });
  const close = element("button", { className: "close", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, key("Esc"));
  const hint = element("p", { className: "hint" }, element("span", {}, key("↑"), key("↓"), "Move"), element("span", {}, key("⏎"), "Run"), element("span", {}, key("?"), "All shortcuts"));
  dialog.replaceChildren(element("div", { className: "ask" }, icon("search"), input), close, list, hint);
  dialog.showModal();
  input.focus();
  const search = () => {
    const text = input.value;
    show(list, input, sections(text, []));
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const found = await instances(text).catch(() => null);
      if (text !== input.value) return;
      show(list, input, sections(text, found ?? []));
      if (!list.children.length) list.append(nothing(found ? "No matching instance, page or action" : "Can't reach the server"));
    }, 120);
  };
  search();
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => steer(event, list));
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
}

/** The groups that the text leaves something of. */
function sections(text, found) {
  const wanted = text.trim().toLowerCase();
  const matching = (entries) => entries.filter(({ name }) => name.toLowerCase().includes(wanted));
  return [
    [document.querySelector(".head h1")?.textContent.trim() || "This page", matching(actions())],
    ["Instances", found],
    ["Recent", wanted ? [] : recent()],
    ["Go to", matching(places())],
  ].filter(([, entries]) => entries.length);
}

/** Buttons of the page that can be seen: first those about what the instance is doing now. */
function actions() {
  const nodes = [...document.querySelectorAll("main :is(.now, .brief) .acts :is(a, button), main :is(.head, .acts, .actions) :is(a, button), main .pop :is(a, button)")];
  const seen = new Set();
  return nodes.filter((node) => !node.disabled && !node.closest("tr, .crumbs, .picked, .tabs, dialog, .confirm, [data-no-palette]") && !node.matches(".only-s"))
    .map((node) => ({ name: nameOf(node), symbol: symbolOf(node), keys: node.dataset.hot ? [node.dataset.hot.toUpperCase()] : [], run: () => node.click() }))
    .filter(({ name }) => name && !seen.has(name) && seen.add(name));
}

function places() {
  return [...document.querySelectorAll("#side nav a")].map((link) => ({
    name: (link.querySelector(".name") || link).textContent.trim(), symbol: symbolOf(link) || "flow", url: link.href,
    keys: { Instances: ["G", "I"], Workflows: ["G", "W"], Clock: ["G", "C"] }[link.title] ?? [],
  }));
}

async function instances(text) {
  if (!text.trim()) return [];
  const address = `${document.documentElement.dataset.base}/find?id=${encodeURIComponent(text.trim())}`;
  const found = await (await fetch(address, { headers: { Accept: "application/json" } })).json();
  return found.map(({ id, workflow, status, icon: symbol, tone, url }) => ({ name: id, end: workflow, glyph: [symbol, tone], title: status, url }));
}

const read = () => { try { return JSON.parse(localStorage.getItem(RECENT)) || []; } catch { return []; } };
const recent = () => read().filter(({ url }) => url !== location.pathname).map(({ name, end, url }) => ({ name, end, url, symbol: "list" }));

/** An instance that is shown is among the recent ones from now on. */
function remember() {
  const match = /\/workflows\/([^/]+)\/instances\/([^/]+)$/.exec(location.pathname);
  if (!match) return;
  const [end, name] = match.slice(1).map((part) => decodeURIComponent(decodeURIComponent(part)));
  const others = read().filter(({ url }) => url !== location.pathname);
  localStorage.setItem(RECENT, JSON.stringify([{ name, end, url: location.pathname }, ...others].slice(0, KEPT + 1)));
}

const nameOf = (node) => (node.getAttribute("aria-label") || [...node.childNodes].filter(({ nodeName }) => nodeName !== "KBD").map(({ textContent }) => textContent).join(" ")).trim().replace(/\s+/g, " ");
const symbolOf = (node) => node.querySelector("use")?.getAttribute("href").replace("#i-", "") ?? "";

const nothing = (text) => element("p", { className: "opt dim", role: "option", "aria-disabled": "true" }, text);

function show(list, input, groups) {
  let index = 0;
  list.replaceChildren(...groups.map(([title, entries]) => element(
    "ul", { role: "group", "aria-label": title },
    element("li", { className: "cap", role: "presentation", "aria-hidden": "true" }, title),
    ...entries.map((entry) => option(entry, index++)),
  )));
  input.setAttribute("aria-activedescendant", index ? "go-0" : "");
}

function option(entry, index) {
  const row = element(
    "li", { className: "opt", id: `go-${index}`, role: "option", "aria-selected": String(index === 0) },
    entry.glyph ? icon(...entry.glyph) : icon(entry.symbol || "right"), element("span", { className: "cut" }, entry.name),
  );
  if (entry.end) row.append(element("span", { className: "dim" }, entry.end));
  if (entry.keys?.length) row.append(element("span", { className: "keys" }, ...entry.keys.map(key)));
  row.onclick = () => {
    document.getElementById("palette").close();
    if (entry.url) location.href = entry.url;
    else entry.run();
  };
  return row;
}

const key = (text) => element("kbd", {}, text);

function steer(event, list) {
  const rows = [...list.querySelectorAll("[role='option']:not([aria-disabled])")];
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
