// Returns to the list as it was: same filters, page and current row.

const KEY = "stepwell-list";
const BACK = "stepwell-back";

export function startPlace() {
  if (document.getElementById("filter")) window.addEventListener("pagehide", remember);
  else document.addEventListener("click", followBack);
}

function remember() {
  const row = document.activeElement?.closest?.("[data-row]") || document.querySelector("[data-row].here");
  const place = { address: location.pathname + location.search, row: row?.dataset.key, top: row?.getBoundingClientRect().top, scroll: window.scrollY };
  sessionStorage.setItem(KEY, JSON.stringify(place));
}

const left = () => JSON.parse(sessionStorage.getItem(KEY));

/** Goes where a link to a list leads: to the one that was left, of the Workflow that the link names. */
export function goBack(link) {
  const place = left();
  if (!place) { location.href = link; return; }
  const address = new URL(place.address, location.origin);
  const workflow = new URL(link, location.origin).searchParams.get("workflow");
  if (workflow !== address.searchParams.get("workflow")) {
    for (const name of ["after", "before", "workflow"]) address.searchParams.delete(name);
    if (workflow) address.searchParams.set("workflow", workflow);
  }
  sessionStorage.setItem(BACK, "1");
  location.href = address;
}

/** The same, whatever the Workflow of the list was. */
export function goBackToList(link) {
  goBack(left()?.address ?? link);
}

function followBack(event) {
  const link = event.target.closest?.(".crumbs a, a[data-up]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const target = new URL(link.href);
  if (target.pathname !== document.documentElement.dataset.base) return;
  event.preventDefault();
  // A crumb names its list; "Cancel" does not.
  if (link.closest(".crumbs") || target.searchParams.has("workflow")) goBack(link.href);
  else goBackToList(link.href);
}

/** The row that one was at, when one has come back; scrolls to where it was. */
export function rowLeft() {
  const isBack = sessionStorage.getItem(BACK);
  sessionStorage.removeItem(BACK);
  const place = left();
  if (!isBack || place?.address !== location.pathname + location.search) return null;
  const row = document.querySelector(`#rows [data-key="${CSS.escape(place.row ?? "")}"]`);
  if (row) window.scrollBy(0, row.getBoundingClientRect().top - place.top);
  else window.scrollTo(0, place.scroll);
  return row;
}
