// Values: search (Enter moves to the next match), expand all, collapse all, load truncated parts in place.
// For a truncated value, Enter searches all of it on the server.

export function startValues() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-fold]");
    if (!button) return;
    const value = button.closest(".value");
    for (const part of value.querySelectorAll("details")) part.open = button.dataset.fold === "open";
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".value-page a[data-part]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    load(link);
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("input[data-search-value]")) search(event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches?.("input[data-search-value]")) return;
    if (event.target.form && event.target.closest(".value").dataset.cut !== undefined) return;
    event.preventDefault();
    next(event.target.closest(".value"), event.shiftKey ? -1 : 1);
  });
  document.addEventListener("redrawn", () => {
    for (const input of document.querySelectorAll("input[data-search-value]")) if (input.value) mark(input);
  });
}

function search(input) {
  const hits = mark(input);
  const value = input.closest(".value");
  for (const hit of hits) {
    for (let up = hit.parentElement; up && up !== value; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  }
  if (hits.length) show(value, hits, 0);
}

/** Marks what contains the text, and says how often. */
function mark(input) {
  const value = input.closest(".value");
  const wanted = input.value.toLowerCase();
  const hits = [];
  for (const row of value.querySelectorAll(".leaf, summary")) {
    const is = Boolean(wanted) && row.textContent.toLowerCase().includes(wanted);
    row.classList.toggle("hit", is);
    if (is) hits.push(row);
    else row.classList.remove("hit-here");
  }
  value.querySelector(".hits").textContent = wanted ? counted(value, hits.length || "none") : "";
  return hits;
}

function next(value, by) {
  const hits = [...value.querySelectorAll(".hit")];
  if (hits.length) show(value, hits, (hits.findIndex((hit) => hit.classList.contains("hit-here")) + by + hits.length) % hits.length);
}

function show(value, hits, index) {
  hits.forEach((hit, at) => hit.classList.toggle("hit-here", at === index));
  const tree = value.querySelector(".tree");
  tree.scrollTop += hits[index].getBoundingClientRect().top - tree.getBoundingClientRect().top - tree.clientHeight / 3;
  value.querySelector(".hits").textContent = counted(value, `${index + 1}/${hits.length}`);
}

const counted = (value, count) => (value.dataset.cut === undefined ? String(count) : `${count} in the loaded part (Enter: search all)`);

/** Puts what a link leads to in its place; where that fails, goes there. */
async function load(link) {
  const answer = await fetch(link.href).catch(() => null);
  const page = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
  const loaded = page && page.querySelector(".value-page .tree > .branch > .inside");
  if (!loaded) return location.assign(link.href);
  const value = link.closest(".value");
  const input = value.querySelector("input[data-search-value]");
  link.closest(".leaf").replaceWith(...loaded.childNodes);
  if (!value.querySelector("a[data-part]")) delete value.dataset.cut;
  if (input?.value) mark(input);
}
