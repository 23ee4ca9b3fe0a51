// Confirmation next to the button that asks. Its button confirms, Escape and a click elsewhere cancel; the focus returns.
import { element } from "./dom.js";

const GAP = 6;
const MARGIN = 8;

/** The form's answers, or null if it was cancelled; `near` is the button that asks. */
export function ask({ title, text, verb, input, check }, near) {
  const place = document.getElementById("ask");
  if (place.matches(":popover-open")) place.hidePopover();
  const no = element("button", { type: "button", className: "b" }, "Cancel");
  const yes = element("button", { className: "b danger main" }, verb);
  const form = element("form", {}, element("p", {}, element("b", { id: "ask-title" }, title), text ? ` ${text}` : ""));
  if (input) form.append(element("label", { className: "labelled" }, input, element("span", { className: "field" }, element("input", { type: "text", name: "reason" }))));
  if (check) form.append(element("label", { className: "check" }, element("input", { type: "checkbox", className: "box", name: "rollback", value: "1" }), check));
  form.append(element("div", { className: "acts" }, no, yes));
  place.replaceChildren(form);
  const before = document.activeElement;
  place.showPopover();
  put(place, near);
  (form.querySelector("input[type='text']") ?? yes).focus();
  return new Promise((resolve) => {
    const finish = (answer) => {
      place.removeEventListener("toggle", closed);
      if (place.matches(":popover-open")) place.hidePopover();
      if (document.activeElement === document.body || place.contains(document.activeElement)) before?.focus?.();
      resolve(answer);
    };
    // A later question takes the place of this one: its form is gone.
    const closed = (event) => { if (event.newState === "closed" || !form.isConnected) finish(null); };
    place.addEventListener("toggle", closed);
    no.addEventListener("click", () => finish(null));
    // Enter in a field leads to the button, and only there it confirms.
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target === yes || event.target === no) return;
      event.preventDefault();
      yes.focus();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      finish(Object.fromEntries(new FormData(form)));
    });
  });
}

/** Below the button, or above it where there is no room. On narrow windows the style sheet puts it at the bottom. */
function put(place, near) {
  const button = (near?.getClientRects().length ? near : near?.closest("details, form"))?.getBoundingClientRect() ?? { bottom: MARGIN, top: MARGIN, right: innerWidth };
  const box = place.getBoundingClientRect();
  const below = button.bottom + GAP + box.height + MARGIN <= innerHeight;
  place.style.top = `${below ? button.bottom + GAP : Math.max(MARGIN, button.top - GAP - box.height)}px`;
  place.style.left = `${Math.max(MARGIN, Math.min(button.right - box.width, innerWidth - box.width - MARGIN))}px`;
}
