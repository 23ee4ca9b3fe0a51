// Completion in the search box of the list: filter words, statuses, known step names and event types.
import { element } from "./dom.js";

let words = null;

export function startCompletion() {
  const input = document.querySelector("input[data-complete]");
  if (!input) return;
  const list = element("ul", { className: "words", id: "words", role: "listbox", hidden: true, "aria-label": "Completions", "data-keep": "" });
  input.parentElement.append(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-controls", "words");
  input.setAttribute("aria-autocomplete", "list");
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
  const open = async () => {
    words ??= fetch(input.dataset.complete).then((answer) => answer.json());
    const typed = input.value;
    const known = await words;
    // Newer input triggers its own redraw; drawing twice would lose the highlighted entry.
    if (typed !== input.value || (!list.hidden && list.dataset.typed === typed)) return;
    list.dataset.typed = typed;
    draw(list, input, choices(input, known), close);
  };
  input.addEventListener("input", open);
  input.addEventListener("click", open);
  input.addEventListener("blur", () => setTimeout(close, 120));
  input.addEventListener("keydown", (event) => key(event, list, input, close));
}

function current(input) {
  const before = input.value.slice(0, input.selectionStart);
  return before.slice(before.lastIndexOf(" ") + 1);
}

function choices(input, known) {
  const word = current(input);
  const colon = word.indexOf(":") + 1;
  const values = known.values[word.slice(0, colon)];
  if (colon && values) {
    const begun = word.slice(colon).toLowerCase();
    return values.filter((value) => value.toLowerCase().includes(begun)).slice(0, 12)
      .map((value) => ({ text: word.slice(0, colon) + (value.includes(" ") ? `"${value}"` : value) + " ", example: value, help: "" }));
  }
  return colon ? [] : known.words.filter(({ text }) => text.startsWith(word.toLowerCase()));
}

function draw(list, input, found, close) {
  list.replaceChildren(...found.map((choice, index) => {
    const row = element("li", { id: `word-${index}`, role: "option", "data-text": choice.text }, element("code", {}, choice.example), element("span", {}, choice.help));
    row.addEventListener("mousedown", (event) => { event.preventDefault(); take(input, choice.text, close); });
    return row;
  }));
  list.hidden = found.length === 0;
  input.setAttribute("aria-expanded", String(found.length > 0));
}

function take(input, text, close) {
  const at = input.selectionStart;
  const start = input.value.slice(0, at).lastIndexOf(" ") + 1;
  input.value = input.value.slice(0, start) + text + input.value.slice(at);
  input.setSelectionRange(start + text.length, start + text.length);
  close();
  if (text.endsWith(":")) input.dispatchEvent(new Event("input"));
}

function key(event, list, input, close) {
  if (list.hidden) return;
  const rows = [...list.children];
  const chosen = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    const next = (chosen + step + rows.length) % rows.length;
    rows.forEach((row, index) => row.setAttribute("aria-selected", String(index === next)));
    rows[next].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", rows[next].id);
  } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
    event.preventDefault();
    take(input, rows[chosen].dataset.text, close);
  } else if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    close();
  }
}
