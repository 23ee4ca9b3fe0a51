// Times and durations as text, the same as in emulator/dashboard/parts/text.py.
const UNITS = [[86400000, "d"], [3600000, "h"], [60000, "min"], [1000, "s"]];

export function duration(ms) {
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10000) return `${(ms / 1000).toFixed(1).replace(/\.0$/, "")} s`;
  const index = UNITS.findIndex(([size]) => ms >= size);
  const [size, name] = UNITS[index];
  const smaller = UNITS[index + 1];
  const rest = ms % size;
  const first = `${Math.floor(ms / size)} ${name}`;
  return smaller && rest >= smaller[0] ? `${first} ${Math.floor(rest / smaller[0])} ${smaller[1]}` : first;
}

export function ago(ms) {
  if (ms < 1000) return "just now";
  const [size, name] = UNITS.find(([unit]) => ms >= unit);
  return `${Math.floor(ms / size)} ${name} ago`;
}

export function until(ms) {
  return ms < 1000 ? "now" : `in ${duration(Math.floor(ms / 1000) * 1000)}`;
}

const two = (n) => String(n).padStart(2, "0");

/** Date and time to the millisecond, in the zone of the machine or in UTC. */
export function exact(at, zone) {
  const d = new Date(at);
  if (Number.isNaN(d.getTime())) return `${at} ms`;
  if (zone === "utc") return `${d.toISOString().replace("T", " ").replace("Z", "")} UTC`;
  const day = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  return `${day} ${timeOfDay(at, zone)}.${String(d.getMilliseconds()).padStart(3, "0")}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The time of day; of another day "2 Dec, 21:10", of another year "2 Dec 2025, 21:10". */
export function clock(at, now, zone) {
  const [day, today] = [exact(at, zone).slice(0, 10), exact(now, zone).slice(0, 10)];
  if (day === today || day.length < 10) return timeOfDay(at, zone);
  const [year, month, date] = day.split("-");
  return `${Number(date)} ${MONTHS[month - 1]}${year === today.slice(0, 4) ? "" : ` ${year}`}, ${timeOfDay(at, zone).slice(0, 5)}`;
}

export function timeOfDay(at, zone) {
  const d = new Date(at);
  const parts = zone === "utc"
    ? [d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()]
    : [d.getHours(), d.getMinutes(), d.getSeconds()];
  return parts.map(two).join(":");
}
