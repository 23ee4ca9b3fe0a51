// Selecting rows: click, shift-click for a range, "x" on the current row, all of the page, all that match. While
// something is selected, a bar at the bottom has the actions, each with the number of instances it applies to.
import { askInBar, closeQuestion } from "./bulk.js";

let last = null;
let all = false;

export function startChoosing() {
  document.addEventListener("click", (event) => {
    const target = event.target;
    if (target.matches?.("#rows input[name='key']")) clicked(target, event.shiftKey);
    else if (target.closest?.("[data-pick-all]")) pickAll();
    else if (target.closest?.("[data-pick-none]")) clear();
    else if (target.closest?.("[data-pick-only]")) only(target.closest("tr"));
    else if (target.closest?.("[data-pick-mode]")) document.getElementById("main").classList.toggle("picking");
  });
  document.addEventListener("change", (event) => {
    if (event.target.id === "pick-page") for (const box of boxes()) box.checked = event.target.checked;
    if (event.target.matches?.("#pick-page, #rows input[name='key']")) changed();
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "bulk") return;
    event.preventDefault();
    askInBar(event.submitter, selection());
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open], details.menu[open]")) return;
    if (closeQuestion() || clear()) event.preventDefault();
  });
  document.addEventListener("redrawn", show);
  document.addEventListener("chosen", changed);
  document.addEventListener("bulk-done", clear);
  // The browser restores the selection on back navigation, after this has run.
  window.addEventListener("pageshow", show);
  show();
}

const boxes = () => [...document.querySelectorAll("#rows input[name='key']")];
const picked = () => boxes().filter((box) => box.checked);

function clicked(box, isRange) {
  const every = boxes();
  if (isRange && last && every.includes(last)) {
    const [from, to] = [every.indexOf(last), every.indexOf(box)].sort((a, b) => a - b);
    for (const other of every.slice(from, to + 1)) other.checked = box.checked;
  }
  last = box;
}

function changed() {
  all = false;
  closeQuestion();
  show();
}

function pickAll() {
  for (const box of boxes()) box.checked = true;
  closeQuestion();
  all = true;
  show();
}

function only(row) {
  for (const box of boxes()) box.checked = box.closest("tr") === row;
  changed();
}

/** Whether there was anything to clear. */
function clear() {
  const main = document.getElementById("main");
  const was = all || picked().length > 0 || main.classList.contains("picking");
  for (const box of boxes()) box.checked = false;
  if (was) changed();
  return was;
}

/** What the server is asked for, and how many instances of each status are in it. */
function selection() {
  const counts = {};
  const bulk = document.getElementById("bulk");
  if (all) {
    const chosen = bulk.dataset.statuses.split(" ").filter(Boolean);
    for (const part of bulk.dataset.counts.trim().split(" ")) {
      const [status, count] = part.split(":");
      if (!chosen.length || chosen.includes(status)) counts[status] = Number(count);
    }
    return { all, keys: [], counts, types: [] };
  }
  const rows = picked().map((box) => box.closest("tr"));
  for (const row of rows) counts[row.dataset.status] = (counts[row.dataset.status] ?? 0) + 1;
  return { all, keys: rows.map((row) => row.dataset.key), counts, types: rows.map((row) => row.dataset.waits).filter(Boolean) };
}

function show() {
  const bar = document.getElementById("picked");
  if (!bar) return;
  const { counts } = selection();
  const count = Object.values(counts).reduce((a, b) => a + b, 0);
  document.getElementById("main").classList.toggle("picking", count > 0);
  bar.classList.toggle("on", count > 0);
  for (const row of document.querySelectorAll("#rows tr")) row.classList.toggle("is-picked", Boolean(row.querySelector("input:checked")));
  const page = document.getElementById("pick-page");
  const every = boxes();
  page.checked = every.length > 0 && picked().length === every.length;
  page.classList.toggle("some", picked().length > 0 && !page.checked);
  page.indeterminate = picked().length > 0 && !page.checked;
  bar.querySelector("[data-picked-count]").textContent = `${count.toLocaleString("en-US")} selected`;
  bar.querySelector("[data-pick-all]").hidden = all || Number(document.getElementById("bulk").dataset.matching) <= count;
  for (const button of bar.querySelectorAll("button[name='action']")) {
    const applies = button.dataset.statuses.split(" ").reduce((sum, status) => sum + (counts[status] ?? 0), 0);
    button.hidden = applies === 0;
    button.dataset.count = applies;
    button.querySelector("[data-applies]").textContent = applies.toLocaleString("en-US");
  }
}
