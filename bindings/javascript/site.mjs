// Where user code calls a step: the frame of its stack, told once for each name that a method of step is called with.
// A stack takes 7 microseconds, as much as the rest of a step takes here; to know that a name was told takes none.
const MOST = 1_000; // names that are made anew all the time would fill the memory
const told = new Set();

/** The frame of who called the method of step that asks; undefined where it was told before, or cannot be. */
export function siteOf(method, name) {
  if (typeof name !== "string") return undefined;
  const key = `${method} ${name}`;
  if (told.has(key) || told.size >= MOST) return undefined;
  told.add(key);
  const { stack } = new Error();
  return typeof stack === "string" ? stack.split("\n")[3]?.trim() : undefined; // after: the message, this, the method
}
