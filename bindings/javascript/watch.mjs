// For checks of determinism: what run() reads outside of steps, and races of steps there. A replay would get another
// answer. Global functions are wrapped once, when a pass is first watched; outside of watched passes they only look
// at the scope.
import { currentScope } from "./scope.mjs";

const CLOCK = "the clock";
const RANDOMNESS = "randomness";
let watching = false;

/** Begins to watch passes whose scope has a `watch`: `{read(what, name, stack), race(stack)}`. */
export function watchPasses() {
  if (watching) return;
  watching = true;
  wrap(Date, "now", (watch, stack) => watch.read(CLOCK, "Date.now", stack));
  wrap(Math, "random", (watch, stack) => watch.read(RANDOMNESS, "Math.random", stack));
  for (const name of ["randomUUID", "getRandomValues"])
    wrap(crypto, name, (watch, stack) => watch.read(RANDOMNESS, `crypto.${name}`, stack));
  wrap(globalThis, "fetch", (watch, stack) => watch.read("the network", "fetch", stack));
  for (const name of ["race", "any"]) wrapRace(name);
  wrapDate();
}

/** The watch of the code that runs, if it is that of run() outside of steps. */
function watchHere() {
  const scope = currentScope();
  return scope?.step === undefined ? scope?.watch : undefined;
}

function wrap(owner, name, note) {
  const plain = owner[name];
  const wrapped = function (...args) {
    const watch = watchHere();
    if (watch) note(watch, stackAbove(wrapped));
    return Reflect.apply(plain, this, args);
  };
  replace(owner, name, wrapped);
}

function wrapRace(name) {
  const plain = Promise[name];
  const wrapped = function (promises) {
    const watch = watchHere();
    const all = watch && promises != null && typeof promises[Symbol.iterator] === "function" ? [...promises] : promises;
    if (watch && all.length > 1) watch.race(stackAbove(wrapped));
    return Reflect.apply(plain, this, [all]);
  };
  replace(Promise, name, wrapped);
}

/** `new Date()` and `Date()`; with arguments neither reads the clock. */
function wrapDate() {
  const note = (args, above) => {
    const watch = args.length === 0 ? watchHere() : undefined;
    if (watch) watch.read(CLOCK, "new Date", stackAbove(above));
  };
  const handler = {
    construct(target, args, newTarget) {
      note(args, handler.construct);
      return Reflect.construct(target, args, newTarget);
    },
    apply(target, self, args) {
      note([], handler.apply);
      return Reflect.apply(target, self, args);
    },
  };
  const wrapped = new Proxy(Date, handler);
  replace(Date.prototype, "constructor", wrapped);
  replace(globalThis, "Date", wrapped);
}

/** As far as the runtime lets us: a function that cannot be replaced is not watched. */
function replace(owner, name, value) {
  try {
    Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  } catch {
    // frozen
  }
}

function stackAbove(caller) {
  const holder = {};
  Error.captureStackTrace(holder, caller);
  return typeof holder.stack === "string" ? holder.stack : "";
}
