// Input help: checks JSON while typing, fills in recent params, submits with Ctrl+Enter.

export function startForms() {
  document.addEventListener("input", (event) => { if (event.target.dataset?.json) check(event.target); });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-fill]");
    if (!button) return;
    event.preventDefault();
    const area = document.getElementById(button.dataset.fill);
    area.value = button.dataset.text;
    area.dataset.touched = "1";
    area.focus();
    check(area);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.tagName === "TEXTAREA") {
      event.preventDefault();
      event.target.form?.requestSubmit();
    }
  });
}

function check(area) {
  const place = document.getElementById(area.dataset.json);
  if (!place) return;
  let text = "valid";
  try { if (area.value.trim()) JSON.parse(area.value); } catch (error) { text = error.message; }
  area.setAttribute("aria-invalid", String(text !== "valid"));
  if (place.textContent !== text) place.textContent = text;
}
