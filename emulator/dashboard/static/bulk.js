// Bulk actions in the selection bar: the question with what is skipped and why, then progress and failures.
import { refresh } from "./live.js";
import { toast } from "./toast.js";

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
  if (!plan || plan.text) { toast(plan?.text || "Can't reach the server. Is stepwell dev running?", "bad"); return closeQuestion(); }
  if (GENTLE.has(action)) return run(query, line(), plan);
  const box = line();
  const ask = paragraph(`${plan.title}?`, [...skipped(plan), AFTER[action]].filter(Boolean).join(" "));
  const form = document.createElement("form");
  form.className = "line ask";
  form.append(ask, ...fields(action, selection.types), buttons(button, plan));
  box.replaceWith(form);
  form.id = "ask-line";
  form.setAttribute("role", "alertdialog");
  form.setAttribute("aria-labelledby", "ask-line-title");
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
  return [...counts].map(([reason, count]) => `${count.toLocaleString("en-US")} skipped: ${reason}.`);
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
  const box = document.createElement("div");
  box.className = "line ask";
  box.id = "ask-line";
  document.getElementById("ask-place").replaceChildren(box);
  return box;
}

function paragraph(title, text) {
  const place = document.createElement("p");
  const strong = document.createElement("b");
  strong.id = "ask-line-title";
  strong.textContent = title;
  const rest = document.createElement("span");
  rest.className = "mid";
  rest.textContent = text;
  place.append(strong, " ", rest);
  return place;
}

function fields(action, types) {
  if (action === "terminate") return [check("rollback", "Run rollback handlers first")];
  if (action !== "sendEvent") return [];
  const type = document.createElement("input");
  Object.assign(type, { type: "text", name: "type", required: true, maxLength: 100, value: most(types), placeholder: "Event type", autocomplete: "off", spellcheck: false });
  type.setAttribute("aria-label", "Event type");
  const payload = document.createElement("textarea");
  Object.assign(payload, { name: "payload", rows: 2, value: "{}", className: "editor", spellcheck: false });
  payload.setAttribute("aria-label", "Payload as JSON");
  const field = document.createElement("span");
  field.className = "field";
  field.append(type);
  return [field, payload];
}

function check(name, text) {
  const label = document.createElement("label");
  label.className = "check";
  const box = Object.assign(document.createElement("input"), { type: "checkbox", className: "box", name, value: "1" });
  label.append(box, text);
  return label;
}

/** The type that most of them wait for. */
function most(types) {
  const counts = new Map();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}

function buttons(button, plan) {
  const acts = document.createElement("div");
  acts.className = "acts";
  const no = Object.assign(document.createElement("button"), { type: "button", className: "b", textContent: "Cancel" });
  no.addEventListener("click", closeQuestion);
  const yes = Object.assign(document.createElement("button"), { className: `b main${button.value === "sendEvent" ? "" : " danger"}` });
  yes.textContent = `${button.querySelector("span").textContent} ${plan.applies.toLocaleString("en-US")}`;
  yes.disabled = plan.applies === 0;
  acts.append(no, yes);
  return acts;
}

/** Selected rows that the action skips say why. */
function mark(plan) {
  const reasons = new Map(plan.lines.filter(({ reason }) => reason).map(({ look, reason }) => [look.word, reason]));
  for (const row of document.querySelectorAll("#rows .is-picked")) {
    const reason = reasons.get(row.querySelector(".status .word").textContent);
    const cell = row.querySelector(".a-does");
    if (!reason || !cell) continue;
    row.classList.add("is-skipped");
    const note = Object.assign(document.createElement("span"), { className: "skipped", textContent: `Skipped: ${reason}` });
    note.setAttribute("data-keep", "");
    cell.append(note);
  }
}

async function run(query, box, plan) {
  const answer = await fetch(`${base()}/bulk`, { method: "POST", body: query, headers: { Accept: "application/json" } }).catch(() => null);
  const said = answer && await answer.json().catch(() => null);
  if (!answer?.ok) return failed(box, said?.message ?? "Can't reach the server. Is stepwell dev running?");
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
  const done = `${job.done.toLocaleString("en-US")} of ${job.total.toLocaleString("en-US")}`;
  const stop = Object.assign(document.createElement("button"), { type: "button", className: "b", textContent: "Stop" });
  stop.addEventListener("click", () => fetch(`${address}/stop`, { method: "POST" }));
  const acts = document.createElement("div");
  acts.className = "acts";
  acts.append(stop);
  box.replaceChildren(paragraph(job.title, `${done}${job.failed ? `, ${job.failed} failed` : ""}`), acts);
}

function failures(box, job, address) {
  const link = Object.assign(document.createElement("a"), { className: "b", href: address, textContent: "View failures" });
  const acts = document.createElement("div");
  acts.className = "acts";
  acts.append(link);
  const first = job.failures[0];
  box.replaceChildren(paragraph(`${job.failed} failed.`, first ? `${first.id}: ${first.reason}` : ""), acts);
}

function failed(box, text) {
  const place = paragraph("Action failed.", text);
  place.classList.add("bad");
  place.setAttribute("role", "alert");
  box.replaceChildren(place);
}
