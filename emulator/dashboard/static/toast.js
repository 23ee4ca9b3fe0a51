// A short message about an action. Announced by screen readers, hidden after a while.

const NEXT = "stepwell-said";

/** Shows what the page before had to say. */
export function startToasts() {
  const text = sessionStorage.getItem(NEXT);
  sessionStorage.removeItem(NEXT);
  if (text) toast(text);
}

/** Keeps a word for the page that comes next. */
export function sayNext(text) {
  if (text) sessionStorage.setItem(NEXT, text);
}

export function toast(text, kind = "") {
  const place = document.getElementById("toasts");
  const made = document.createElement("div");
  made.className = `toast ${kind}`;
  made.textContent = text;
  place.append(made);
  setTimeout(() => made.remove(), 6000);
}
