// Long values: a search inside them, open all, close all. The values themselves come from the server.

export function startValues() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-fold]");
    if (!button) return;
    const value = button.closest(".value");
    for (const part of value.querySelectorAll("details")) part.open = button.dataset.fold === "open";
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("input[data-search-value]")) search(event.target);
    if (event.target.id === "step-filter") filter(event.target.value);
  });
  document.addEventListener("redrawn", () => filter(document.getElementById("step-filter")?.value || ""));
}

function search(input) {
  const value = input.closest(".value");
  const wanted = input.value.toLowerCase();
  for (const row of value.querySelectorAll(".leaf, summary")) {
    row.classList.toggle("hit", Boolean(wanted) && row.textContent.toLowerCase().includes(wanted));
  }
  for (const hit of value.querySelectorAll(".hit")) {
    for (let up = hit.parentElement; up && up !== value; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  }
}

/** Shows the steps whose name, type or state contains the text. */
function filter(text) {
  const wanted = text.trim().toLowerCase();
  for (const row of document.querySelectorAll("[data-step-words]")) {
    row.hidden = Boolean(wanted) && !row.dataset.stepWords.toLowerCase().includes(wanted);
  }
}
