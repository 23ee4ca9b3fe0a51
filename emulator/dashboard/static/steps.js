// The step filter: it searches all steps, on the server, while one types.
import { visit } from "./live.js";

let timer = 0;

export function startStepFilter() {
  for (const kind of ["input", "submit"]) {
    addEventListener(kind, (event) => {
      const input = event.target.closest?.(".step-find")?.find;
      if (!input) return;
      if (kind[0] === "s") event.preventDefault();
      clearTimeout(timer);
      timer = setTimeout(find, 150, input.value.trim());
    });
  }
}

function find(text) {
  const address = new URL(location.href);
  if (text === (address.searchParams.get("find") ?? "")) return;
  address.searchParams.set("find", text);
  visit(address, true);
}
