// One event stream for all open pages of a browser: a browser has six lines for each server, and the seventh page
// would wait for one. Each page says what it watches and up to where it has read; it hears what concerns it.

/** "Changed" for what concerns every page; see `emulator/web/live.py`. */
const EVERY_PAGE = -1;
const AGAIN_MS = 1000;

const pages = new Map();
let source = null;
let seen = "";
let beat = "";
let blocked = false;
let timer = 0;

self.onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => (data.leave ? leave(port) : join(port, data));
};

function join(port, { watch, since, base, again }) {
  pages.set(port, watch);
  if (!source || source.readyState === EventSource.CLOSED || again) { connect(base, since); return; }
  if (beat) port.postMessage({ type: "beat", data: beat });
  if (isOlder(since)) port.postMessage({ type: "change", id: seen });
}

function leave(port) {
  pages.delete(port);
  if (pages.size) return;
  clearTimeout(timer);
  source?.close();
  source = null;
}

function connect(base, since) {
  clearTimeout(timer);
  source?.close();
  seen ||= since;
  beat = "";
  source = new EventSource(`${base}/stream?watch=list&from=${isOlder(since) ? since : seen}`);
  source.addEventListener("open", () => tell({ type: "open" }));
  source.addEventListener("beat", (event) => { beat = event.data; tell({ type: "beat", data: beat }); });
  source.addEventListener("change", changed);
  source.addEventListener("stopped", () => { beat = ""; tell({ type: "stopped" }); });
  source.addEventListener("error", () => {
    beat = "";
    tell({ type: "error" });
    // The browser tries again by itself unless the answer was an error.
    if (source?.readyState === EventSource.CLOSED) timer = setTimeout(connect, AGAIN_MS, base, seen);
  });
}

function changed({ data, lastEventId }) {
  seen = lastEventId;
  const { keys, blocked: is } = JSON.parse(data);
  const concernsAll = keys === null || keys.includes(EVERY_PAGE) || is !== blocked;
  blocked = is;
  for (const [port, watch] of pages) {
    if (concernsAll || watch === "list" || keys.includes(Number(watch))) port.postMessage({ type: "change", id: seen });
  }
}

function tell(message) {
  for (const port of pages.keys()) port.postMessage(message);
}

/** Whether something may have changed between a page's reading and what was heard last. */
function isOlder(since) {
  const [epoch, number] = since.split("-");
  const [now, last] = seen.split("-");
  return epoch !== now || Number(number) < Number(last);
}
