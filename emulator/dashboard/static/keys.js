// Keyboard shortcuts: each key triggers a visible link or button. Inactive while typing.
import { openPalette } from "./palette.js";
import { goBackToList, rowLeft } from "./place.js";

const typing = (node) => node.closest?.("input:not([type='checkbox'], [type='radio']), textarea, select, [contenteditable]");
let prefix = "";

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open], #ask:popover-open")) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const done = prefix === "g" ? go(event.key) : press(event.key);
    prefix = prefix === "" && event.key === "g" ? "g" : "";
    if (done) event.preventDefault();
  });
  const row = rowLeft();
  if (row) be(row);
}

const base = () => document.documentElement.dataset.base;

function go(key) {
  const target = { i: "", l: "", w: "/workflows", c: "/clock" }[key];
  if (target === undefined) return false;
  location.href = base() + target;
  return true;
}

function press(key) {
  if (key === "/") return ["#q", "#with", "#step-filter"].some(focus);
  if ((key === "j" || key === "k") && document.getElementById("panel")) return walk(key);
  if (key === "j" || key === "ArrowDown") return move(1, key);
  if (key === "k" || key === "ArrowUp") return move(-1, key);
  if (key === "Enter") return open();
  if (key === "x") return choose();
  if (key === "Escape") return back();
  if (key === "?") { location.href = `${base()}/help`; return true; }
  const hot = document.querySelector(`[data-hot="${CSS.escape(key)}"]:not([disabled])`);
  if (!hot) return false;
  const field = hot.tagName === "DETAILS" ? hot.querySelector("textarea, input, select") : hot.form?.querySelector("textarea");
  if (hot.tagName === "DETAILS") hot.open = true;
  (field ?? hot).focus();
  if (!field && undoable(hot)) hot.click();
  return true;
}

/** No key does what cannot be undone: such a button has to ask first, or it only gets the focus. */
function undoable(hot) {
  return hot.type !== "submit" || Boolean(hot.dataset.ask || hot.form?.dataset.ask) || hot.hasAttribute("data-undoable");
}

/** The next or previous step in the drawer. */
function walk(key) {
  document.querySelector(`[data-walk="${key}"]`)?.click();
  return true;
}

function focus(selector) {
  const found = document.querySelector(selector);
  found?.focus();
  found?.select?.();
  return Boolean(found);
}

const rows = () => [...document.querySelectorAll("[data-row]")];

let current = "";

/** Marks the row that the keys are at; a redraw takes the mark away. */
function point() {
  for (const row of rows()) row.classList.toggle("here", row.dataset.key === current);
}

document.addEventListener("redrawn", point);

function move(by, key) {
  const all = rows();
  if (!all.length || (key.startsWith("Arrow") && !document.querySelector("[data-row].here"))) return false;
  const at = all.findIndex((row) => row.classList.contains("here"));
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))];
  be(next);
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function be(row) {
  current = row.dataset.key;
  point();
  (row.querySelector("a") || row).focus({ preventScroll: true });
}

function open() {
  if (document.activeElement && document.activeElement !== document.body) return false;
  const row = document.querySelector("[data-row].here a");
  row?.click();
  return Boolean(row);
}

function choose() {
  const box = document.querySelector("[data-row].here input[name='key']");
  if (!box) return false;
  box.checked = !box.checked;
  document.dispatchEvent(new CustomEvent("chosen"));
  return true;
}

function back() {
  const close = document.querySelector("[data-close]");
  if (close) { close.click(); return true; }
  const up = document.querySelector("[data-up]");
  if (!up) return false;
  if (new URL(up.href).pathname === base()) goBackToList(up.href);
  else up.click();
  return true;
}
