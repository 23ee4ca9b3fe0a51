// What keeps Stepwell out of sight of user code: it is to see what it sees in the runtime alone.
const ENTRYPOINTS = ["__StepwellRuns", "__StepwellFront"]; // emulator/worker/workerd/bundling.py
const bind = Function.prototype.call.bind(Function.prototype.bind);

/**
 * Takes Stepwell's entrypoints out of `ctx.exports`, for all contexts. The runtime fills it after the modules are evaluated,
 * so this is done at the engine's first request, before there is any other.
 */
export function hideEntrypoints({ exports }) {
  for (const name of ENTRYPOINTS) if (exports) delete exports[name];
}

/**
 * Calls `fn` with `self` and `args`, and gives the promise of its result. The call comes from the runtime's own code, so a
 * stack that user code looks at has no frames of Stepwell, provided that nothing awaits the promise: use its `then`.
 */
export const callUnseen = (fn, self, args) => Promise.resolve().then(bind(Reflect.apply, undefined, fn, self, args));

/** The promise of `new Class(...args)`, as for `callUnseen`. */
export const constructUnseen = (Class, args) => callUnseen(Reflect.construct, undefined, [Class, args, Class]);

/** Puts `around(original, self, args)` in place of a method; the method still shows itself as it was. */
export function replaceMethod(object, name, around) {
  const { value, ...attributes } = descriptorOf(object, name);
  Object.defineProperty(object, name, { ...attributes, value: new Proxy(value, { apply: around }) });
}

const descriptorOf = (object, name) =>
  Object.getOwnPropertyDescriptor(object, name) ?? { value: object[name], writable: true, enumerable: true, configurable: true };
