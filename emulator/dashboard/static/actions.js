// Action forms: sent without leaving the page, after a confirmation if the action can't be undone.
import { ask } from "./dialog.js";
import { element } from "./dom.js";
import { refresh } from "./live.js";
import { goBackToList } from "./place.js";
import { sayNext, toast } from "./toast.js";

export function startActions() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.hasAttribute("data-act")) return;
    event.preventDefault();
    act(form, event.submitter);
  });
}

async function act(form, button) {
  if (button?.getAttribute("aria-busy") === "true") return;
  const question = button?.dataset.ask || form.dataset.ask;
  const given = new FormData(form, button);
  if (question) {
    const answer = await ask({
      title: question, text: button?.dataset.askText || form.dataset.askText || "", verb: button?.textContent.trim() || "Go on",
      input: button?.dataset.askInput || form.dataset.askInput, check: button?.dataset.askCheck || form.dataset.askCheck,
    }, button);
    if (!answer) return;
    for (const [name, value] of Object.entries(answer)) given.set(name, value);
  }
  await send(form, button, given);
}

async function send(form, button, given) {
  tell(form, "");
  underWay(button, true);
  try {
    // Not `form.action`: a field with that name would shadow it.
    const response = await fetch(button?.getAttribute("formaction") ?? form.getAttribute("action") ?? location.href, { method: "POST", body: new URLSearchParams(given), headers: { Accept: "application/json" } });
    const said = response.headers.get("content-type")?.includes("json") ? await response.json() : { message: await response.text() };
    if (!response.ok) tell(form, said.message || `The server returned status ${response.status}.`);
    else await done(form, said);
  } catch {
    tell(form, "Can't reach the server. Is stepwell dev running?", true);
  } finally {
    underWay(button, false);
  }
}

/** Not by `disabled`, which would take the focus away from the button. */
function underWay(button, is) {
  for (const name of ["aria-busy", "aria-disabled"]) {
    if (is) button?.setAttribute(name, "true");
    else button?.removeAttribute(name);
  }
}

async function done(form, said) {
  if (said.go) {
    sayNext(said.message);
    if (form.hasAttribute("data-leaves")) goBackToList(said.go);
    else location.href = said.go;
    return;
  }
  if (said.message) toast(said.message);
  form.closest("dialog")?.close();
  for (const area of form.querySelectorAll("textarea")) delete area.dataset.touched;
  refresh();
}

/** Shows why it was refused: below the button, below all of a row of buttons. */
function tell(form, text, unreached = false) {
  // A row of a list has no room for it.
  if (form.id === "row-act") { if (text) toast(text, "bad"); return; }
  const around = form.closest(".acts, .actions, .item-actions, .panel-actions, .leaps") || form;
  let place = around.querySelector(":scope > .problem");
  if (!place && !text) return;
  if (!place) {
    place = element("p", { className: "problem", role: "alert", "data-keep": "" });
    around.append(place);
  }
  place.textContent = text;
  place.hidden = !text;
  place.toggleAttribute("data-unreached", unreached);
}

document.addEventListener("reached", () => { for (const place of document.querySelectorAll("[data-unreached]")) place.remove(); });
document.addEventListener("input", (event) => { if (event.target.tagName === "TEXTAREA") event.target.dataset.touched = "1"; });
