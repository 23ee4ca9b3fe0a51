// Menus close on Escape, a click outside, focus loss, a selection, and when another menu opens.

export function startMenus() {
  for (const kind of ["click", "focusin"]) {
    document.addEventListener(kind, (event) => {
      for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    });
  }
  document.addEventListener("click", (event) => {
    const choice = event.target.closest?.("details.menu :is([data-copy], [data-copy-from], [data-pick-mode], .themes button, form[data-act] button)");
    if (choice) close(choice.closest("details"));
  });
  document.addEventListener("keydown", (event) => {
    const menu = document.querySelector("details.menu[open]");
    if (event.key !== "Escape" || !menu || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    close(menu);
  });
}

function close(menu) {
  menu.open = false;
  menu.querySelector("summary").focus();
}
