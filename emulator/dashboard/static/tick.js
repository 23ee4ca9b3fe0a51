// Updates ages, countdowns and durations on the open page, by the engine's clock.
import { ago, clock, duration, exact, timeOfDay, until } from "./time.js";

let offset = 0;

/** Takes the engine's time from a page that was just made. */
export function setClock(root) {
  const now = Number(root.dataset.now);
  if (now) offset = now - Date.now();
}

export function engineNow() {
  return Date.now() + offset;
}

export function zone() {
  return localStorage.getItem("stepwell-zone") || "local";
}

const words = {
  ago: (at, now) => ago(now - at),
  until: (at, now) => until(at - now),
  since: (at, now) => `for ${duration(Math.floor((now - at) / 1000) * 1000)}`,
  span: (at, now) => duration(now - at > 10000 ? Math.floor((now - at) / 1000) * 1000 : now - at),
  exact: (at) => exact(at, zone()),
  clock: (at, now) => clock(at, now, zone()),
  now: (_, now) => timeOfDay(now, zone()),
};

export function tick(root = document) {
  const now = engineNow();
  for (const node of root.querySelectorAll("time[data-tick]")) {
    const at = Number(node.dataset.at);
    const text = words[node.dataset.tick](at, now);
    if (node.textContent !== text) node.textContent = text;
    const title = exact(at, zone());
    if (node.dataset.tick !== "now" && node.dataset.tick !== "exact" && node.title !== title) node.title = title;
  }
}

export function startTicking() {
  setClock(document.documentElement);
  tick();
  setInterval(() => { if (!document.hidden) tick(); }, 1000);
  for (const box of document.querySelectorAll("input[name='zone']")) {
    box.checked = box.value === zone();
    box.addEventListener("change", () => { localStorage.setItem("stepwell-zone", box.value); tick(); });
  }
}
