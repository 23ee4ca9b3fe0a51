// Where user code calls a step: the frame of its stack, told once for each name that a method of step is called with.
// A stack, even one of a single frame, takes some microseconds; to know that a name was told takes none.
const MOST = 1_000; // names that are made anew all the time would fill the memory
const told = new Set();

/**
 * The frame of who called `caller`, which stands for the method `kind` of step; undefined where it was told before, or cannot
 * be.
 */
export function siteOf(kind, name, caller) {
  if (typeof name !== "string" || caller === undefined) return undefined;
  const key = `${kind} ${name}`;
  if (told.has(key) || told.size >= MOST) return undefined;
  told.add(key);
  return callerOf(caller);
}

function callerOf(caller) {
  const holder = {};
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(holder, caller);
  Error.stackTraceLimit = limit;
  const { stack } = holder; // user code may have told V8 to make it something else
  return typeof stack === "string" ? stack.split("\n")[1]?.trim() : undefined;
}
