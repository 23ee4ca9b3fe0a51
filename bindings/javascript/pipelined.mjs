// What a call of a stub gives on Cloudflare: an RpcPromise, of whose result properties can be had before it is there, as
// in `await step.do("user", load).name`.
import * as workers from "cloudflare:workers";

const AWAITED = new Set(["then", "catch", "finally"]);
const PROTOTYPES = { JsRpcPromise: workers.RpcPromise?.prototype, JsRpcProperty: workers.RpcProperty?.prototype };

/** `promise` as an RpcPromise shows itself. */
export const pipelined = (promise) => shown("JsRpcPromise", () => promise);

/** `ask` gives the promise of the value; it is called when the value is wanted. */
function shown(kind, ask) {
  const members = {
    [Symbol.toStringTag]: kind,
    [Symbol.toPrimitive]: undefined,
    [Symbol.dispose]: kind === "JsRpcPromise" ? () => {} : undefined,
    constructor: PROTOTYPES[kind]?.constructor,
    toString: () => `[object ${kind}]`,
  };
  return new Proxy(() => {}, {
    get(target, key) {
      if (AWAITED.has(key)) return awaiter(ask(), key);
      if (typeof key === "symbol" || Object.hasOwn(members, key)) return members[key];
      return /^\d+$/.test(key) ? undefined : property(ask, key);
    },
    apply: () => failing(() => ask(), "call"),
    has: (target, key) => key in members || (typeof key === "string" && !/^\d+$/.test(key)),
    ownKeys: () => [],
    getOwnPropertyDescriptor: () => undefined,
    getPrototypeOf: () => PROTOTYPES[kind] ?? Function.prototype,
  });
}

const awaiter = (promise, key) => promise[key].bind(promise);

/** The property `key` of a result that is to come. */
function property(ask, key) {
  let asked;
  const value = async () => {
    const found = await ask();
    if (found === null || typeof found !== "object" || !Object.hasOwn(found, key)) throw notAMethod(key);
    return found[key];
  };
  const known = () => (asked ??= value());
  const made = shown("JsRpcProperty", known);
  return new Proxy(made, { apply: () => failing(known, key) });
}

/** A call of what is no function: it fails when it is awaited. */
function failing(known, key) {
  const call = async () => {
    await known();
    throw notAMethod(key);
  };
  return shown("JsRpcPromise", call);
}

const notAMethod = (key) => new TypeError(`The RPC receiver does not implement the method "${key}".`);
