// Selecting rows: click, shift-click for a range, "x" on the current row. Shows the count and the bulk actions.

let last = null;

export function startChoosing() {
  document.addEventListener("click", (event) => {
    const box = event.target;
    if (!box.matches?.("#rows input[name='key']")) return;
    const boxes = [...document.querySelectorAll("#rows input[name='key']")];
    if (event.shiftKey && last && boxes.includes(last)) {
      const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
      for (const other of boxes.slice(from, to + 1)) other.checked = box.checked;
    }
    last = box;
  });
  document.addEventListener("change", (event) => { if (event.target.closest?.("#bulk")) show(); });
  document.addEventListener("redrawn", show);
  document.addEventListener("chosen", show);
  // The browser restores the selection on back navigation, after this has run.
  window.addEventListener("pageshow", show);
  const sort = document.querySelector(".filter select[name='sort']");
  sort?.addEventListener("change", () => sort.form.requestSubmit());
  show();
}

function show() {
  const place = document.getElementById("with-chosen");
  if (!place) return;
  const count = document.querySelectorAll("#rows input[name='key']:checked").length;
  const all = place.querySelector("input[name='all']");
  place.classList.toggle("on", count > 0 || all.checked);
  document.getElementById("bulk-go").disabled = count === 0 && !all.checked;
  place.querySelector("[data-chosen-count]").textContent = all.checked ? "" : count ? `${count} selected` : "";
}
