// The step filter: it searches all steps, on the server, while one types.
import { visit } from "./live.js";

const PAUSE_MS = 150;
let timer = 0;

export function startStepFilter() {
  document.addEventListener("input", (event) => {
    if (event.target.id !== "step-filter") return;
    clearTimeout(timer);
    timer = setTimeout(find, PAUSE_MS, event.target);
  });
  document.addEventListener("submit", (event) => {
    const input = event.target.querySelector?.("#step-filter");
    if (!input) return;
    event.preventDefault();
    clearTimeout(timer);
    find(input);
  });
}

function find(input) {
  const address = new URL(location.href);
  const text = input.value.trim();
  if (text === (address.searchParams.get("find") ?? "")) return;
  if (text) address.searchParams.set("find", text);
  else address.searchParams.delete("find");
  visit(address, { replace: true });
}
