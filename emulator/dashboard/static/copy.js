// Copy buttons: of a text given (data-copy), of what an address answers (data-copy-from), of an element (data-copy-of).
// With data-copy-filled the address makes the text out of the form of the button, as it is filled in now.
import { toast } from "./toast.js";

export function startCopying() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-from], [data-copy-of]");
    if (!button) return;
    event.preventDefault();
    try {
      await navigator.clipboard.writeText(await textOf(button));
      toast(button.dataset.copied || "Copied");
    } catch (error) {
      toast(error instanceof Refused ? error.message : "The browser did not allow copying", "bad");
    }
  });
}

/** There is nothing to copy; the message says why. */
class Refused extends Error {}

async function textOf(button) {
  if (button.dataset.copyOf) return document.getElementById(button.dataset.copyOf).textContent;
  const { copyFilled: filled, copyFrom: from } = button.dataset;
  if (!filled && !from) return button.dataset.copy;
  const body = filled && new URLSearchParams(new FormData(button.form));
  const response = await (filled ? fetch(filled, { method: "POST", body }) : fetch(from));
  const text = await response.text();
  if (!response.ok) throw new Refused(response.status === 409 ? text : `Nothing to copy: the answer was ${response.status}`);
  return text;
}
