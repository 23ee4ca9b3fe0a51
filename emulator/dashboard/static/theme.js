// Changes the theme immediately; the cookie tells the server for the next page.

export function startThemes() {
  const root = document.documentElement;
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!event.target.classList.contains("themes") || !button) return;
    event.preventDefault();
    root.dataset.theme = button.value;
    document.cookie = `stepwell_theme=${button.value}; path=${root.dataset.base}; max-age=31536000; samesite=strict`;
    document.querySelector("meta[name='color-scheme']").content = button.value === "system" ? "light dark" : button.value;
    for (const other of event.target.querySelectorAll("button")) {
      other.classList.toggle("on", other === button);
      other.setAttribute("aria-pressed", String(other === button));
    }
  });
}
