// Bulk actions in the selection bar: the question with what is skipped and why, then progress and failures.
import { element } from "./dom.js";
import { refresh } from "./live.js";
import { toast } from "./toast.js";

const UNREACHED = "Can't reach the server. Is stepwell dev running?";
const AGAIN_MS = 400;
const GENTLE = new Set(["pause", "resume"]);
const AFTER = { terminate: "You can restart them later.", restart: "Deletes their results, history and events. The params stay.", delete: "This can't be undone." };

/** Asks in the bar above the actions; `selection` says which instances, and the types of the events they wait for. */
export async function askInBar(button, selection) {
  closeQuestion();
  const action = button.value;
  button.setAttribute("aria-pressed", "true");
  const query = queryOf(action, selection);
  const plan = await read(`${base()}/bulk.json?${query}`);
  if (!plan || plan.text) { toast(plan?.text || UNREACHED, "bad"); return closeQuestion(); }
  if (GENTLE.has(action)) return run(query, line(), plan);
  const box = line();
  const ask = paragraph(`${plan.title}?`, [...skipped(plan), AFTER[action]].filter(Boolean).join(" "));
  const form = element("form", { className: "line ask", role: "alertdialog", "aria-labelledby": "ask-line-title" }, ask, ...fields(action, selection.types), buttons(button, plan));
  box.replaceWith(form);
  form.id = "ask-line";
  mark(plan);
  (form.querySelector("input[type='text'], textarea") ?? form.querySelector(".main")).focus();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const place = line();
    form.replaceWith(place);
    run(new URLSearchParams([...query, ...new FormData(form)]), place, plan);
  });
}

/** "2 skipped: already finished." for each reason. */
function skipped(plan) {
  const counts = new Map();
  for (const { count, reason } of plan.lines) if (reason) counts.set(reason, (counts.get(reason) ?? 0) + count);
  return [...counts].map(([reason, count]) => `${number(count)} skipped: ${reason}.`);
}

/** Takes the question away; whether there was one. */
export function closeQuestion() {
  const open = document.getElementById("ask-line");
  open?.remove();
  for (const button of document.querySelectorAll("#bulk [aria-pressed]")) button.removeAttribute("aria-pressed");
  for (const note of document.querySelectorAll("#rows .skipped")) note.remove();
  for (const row of document.querySelectorAll("#rows .is-skipped")) row.classList.remove("is-skipped");
  return Boolean(open);
}

const base = () => document.documentElement.dataset.base;

function queryOf(action, { all, keys }) {
  const fields = [...new FormData(document.getElementById("bulk"))].filter(([name]) => !["key", "all"].includes(name));
  const which = all ? [["all", "1"]] : keys.map((key) => ["key", key]);
  return new URLSearchParams([["action", action], ...fields, ...which]);
}

async function read(address) {
  const answer = await fetch(address).catch(() => null);
  return answer ? answer.json().catch(() => null) : null;
}

function line() {
  const box = element("div", { className: "line ask", id: "ask-line" });
  document.getElementById("ask-place").replaceChildren(box);
  return box;
}

const paragraph = (title, text) => element("p", {}, element("b", { id: "ask-line-title" }, title), " ", element("span", { className: "mid" }, text));
const acts = (...buttons) => element("div", { className: "acts" }, ...buttons);
const number = (value) => value.toLocaleString("en-US");

function fields(action, types) {
  if (action === "terminate") {
    return [element("label", { className: "check" }, element("input", { type: "checkbox", className: "box", name: "rollback", value: "1" }), "Run rollback handlers first")];
  }
  if (action !== "sendEvent") return [];
  const plain = { autocomplete: "off", spellcheck: false };
  const type = element("input", { ...plain, type: "text", name: "type", required: true, maxLength: 100, value: most(types), placeholder: "Event type", "aria-label": "Event type" });
  const payload = element("textarea", { ...plain, name: "payload", rows: 2, value: "{}", className: "editor", "aria-label": "Payload as JSON" });
  return [element("span", { className: "field" }, type), payload];
}

/** The type that most of them wait for. */
function most(types) {
  const counts = new Map();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}

function buttons(button, plan) {
  const yes = { className: `b main${button.value === "sendEvent" ? "" : " danger"}`, disabled: plan.applies === 0 };
  return acts(
    element("button", { type: "button", className: "b", onclick: closeQuestion }, "Cancel"),
    element("button", yes, `${button.querySelector("span").textContent} ${number(plan.applies)}`),
  );
}

/** Selected rows that the action skips say why. */
function mark(plan) {
  const reasons = new Map(plan.lines.filter(({ reason }) => reason).map(({ look, reason }) => [look.word, reason]));
  for (const row of document.querySelectorAll("#rows .is-picked")) {
    const reason = reasons.get(row.querySelector(".status .word").textContent);
    const cell = row.querySelector(".a-does");
    if (!reason || !cell) continue;
    row.classList.add("is-skipped");
    cell.append(element("span", { className: "skipped", "data-keep": "" }, `Skipped: ${reason}`));
  }
}

async function run(query, box, plan) {
  const answer = await fetch(`${base()}/bulk`, { method: "POST", body: query, headers: { Accept: "application/json" } }).catch(() => null);
  const said = answer && await answer.json().catch(() => null);
  if (!answer?.ok) return failed(box, said?.message ?? UNREACHED);
  let job = null;
  do {
    job = await read(`${said.go}.json`);
    if (job) progress(box, job, said.go);
    if (!job || job.finished) break;
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  } while (box.isConnected);
  refresh();
  if (!job || !box.isConnected) return;
  if (job.failed) return failures(box, job, said.go);
  closeQuestion();
  toast(`${plan.title}: done`);
  document.dispatchEvent(new CustomEvent("bulk-done"));
}

function progress(box, job, address) {
  const stop = element("button", { type: "button", className: "b", onclick: () => fetch(`${address}/stop`, { method: "POST" }) }, "Stop");
  box.replaceChildren(paragraph(job.title, `${number(job.done)} of ${number(job.total)}${job.failed ? `, ${job.failed} failed` : ""}`), acts(stop));
}

function failures(box, job, address) {
  const first = job.failures[0];
  box.replaceChildren(paragraph(`${job.failed} failed.`, first ? `${first.id}: ${first.reason}` : ""), acts(element("a", { className: "b", href: address }, "View failures")));
}

function failed(box, text) {
  box.setAttribute("role", "alert");
  box.replaceChildren(paragraph("Action failed.", text));
}
