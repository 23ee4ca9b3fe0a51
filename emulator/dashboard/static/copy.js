// Copy buttons: of a text (data-copy), of a response (data-copy-from), or of an element (data-copy-of).
// With data-copy-filled, the server builds the text from the current input of the button's form.
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
      toast(error instanceof Refused ? error.message : "Copying was blocked by the browser", "bad");
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
  if (!response.ok) throw new Refused(response.status === 409 ? text : `Can't copy: the server returned status ${response.status}`);
  return text;
}
