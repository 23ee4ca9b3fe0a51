// Changes the theme at once; the cookie tells the server for the next page.

const NEXT = { system: "light", light: "dark", dark: "system" };

export function startThemes() {
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!event.target.classList.contains("themes") || !button) return;
    event.preventDefault();
    show(button.value);
  });
}

function show(theme) {
  const root = document.documentElement;
  root.dataset.theme = theme;
  document.cookie = `stepwell_theme=${theme}; path=${root.dataset.base}; max-age=31536000; samesite=strict`;
  document.querySelector("meta[name='color-scheme']").content = theme === "system" ? "light dark" : theme;
  for (const button of document.querySelectorAll(".themes button")) {
    button.value = NEXT[theme];
    const word = button.querySelector(".word");
    if (!word) { button.lastChild.textContent = `${capital(NEXT[theme])} theme`; continue; }
    button.setAttribute("aria-label", `Theme: ${theme}. Change to ${NEXT[theme]}`);
    button.title = `Change to ${NEXT[theme]} theme`;
    word.textContent = `${capital(theme)} theme`;
  }
}

const capital = (word) => word[0].toUpperCase() + word.slice(1);
