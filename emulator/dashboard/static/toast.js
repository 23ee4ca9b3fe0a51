// A short word on what was done, read out by screen readers, gone after a while.

export function toast(text, kind = "") {
  const place = document.getElementById("toasts");
  const made = document.createElement("div");
  made.className = `toast ${kind}`;
  made.textContent = text;
  place.append(made);
  setTimeout(() => made.remove(), 6000);
}
