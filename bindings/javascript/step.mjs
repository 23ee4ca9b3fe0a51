// The `step` of run(): a stub of Workers RPC, as on Cloudflare, so that whatever user code does with it (bind, destructure,
// await, pass it on) has the same outcome. Calls of its four methods take a short way: they skip RPC's own serialization and
// keep the async context, by which console lines and nested steps find their step.
import * as workers from "cloudflare:workers";
import { encodeArguments } from "./codec.mjs";
import { cloneError } from "./errors.mjs";
import { pipelined } from "./pipelined.mjs";
import { siteOf } from "./site.mjs";

const METHODS = ["do", "sleep", "sleepUntil", "waitForEvent"];
const IS_METHOD = Symbol("method of step");
// What a property of a stub has itself; the rest belongs to what it stands for.
const OWN = new Set(["then", "catch", "finally", "toString"]);
const DISPOSED = "RPC stub used after being disposed.";

/** The `step` of one pass. `calls`: see `callsOf`. */
export function stepOf(calls) {
  const { RpcStub } = workers;
  if (RpcStub === undefined) return plain(calls); // workerd of early 2024
  const inner = new RpcStub(new StepTarget(calls));
  return quick(inner, inner.dup(), calls);
}

/** An object with the four methods. */
function plain(calls) {
  const entry = (name) => {
    const call = (...given) => calls[name](call, ...given);
    return [name, call];
  };
  return Object.fromEntries(METHODS.map(entry));
}

/** What answers calls that do not come from user code's own `step.do(...)`: those of a stub that was passed on. */
class StepTarget extends workers.RpcTarget {
  #calls;

  constructor(calls) {
    super();
    this.#calls = calls;
  }

  do(name, ...rest) {
    return this.#calls.do(undefined, name, ...rest.map(kept));
  }

  sleep(...given) {
    return this.#calls.sleep(undefined, ...given);
  }

  sleepUntil(...given) {
    return this.#calls.sleepUntil(undefined, ...given);
  }

  waitForEvent(...given) {
    return this.#calls.waitForEvent(undefined, ...given);
  }
}

/** RPC ends the functions among arguments with the call; those of a rollback are called later. */
function kept(given) {
  if (typeof given === "function") return given.dup();
  if (typeof given?.rollback === "function") return { ...given, rollback: given.rollback.dup() };
  return given;
}

/**
 * `stub` with the short way in its prototype: so it has no properties of its own, as on Cloudflare, and is a stub wherever
 * the runtime looks. `inner` is a stub of the same target, with the properties that these methods stand for.
 */
function quick(inner, stub, calls) {
  let disposed = false;
  const prototype = Object.getPrototypeOf(stub);
  const properties = {
    dup: { value: () => quick(inner, prototype.dup.call(stub), calls), enumerable: true },
    [Symbol.dispose]: {
      value() {
        disposed = true;
        prototype[Symbol.dispose].call(stub);
      },
    },
  };
  for (const name of METHODS) {
    const call = (caller, given) => {
      if (disposed) throw new Error(DISPOSED);
      if (given.some((item) => typeof item === "function" && item[IS_METHOD])) refuseMethod();
      return pipelined(calls[name](caller, ...given));
    };
    const set = function (value) {
      Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
    };
    properties[name] = { get: () => method(inner[name], call), set };
  }
  return Object.setPrototypeOf(stub, Object.create(prototype, properties));
}

/** A property of a stub that is called by `call(caller, given)`; for everything else, the property as it is. */
function method(property, call) {
  const handler = {
    apply: (target, self, given) => call(handler.apply, given),
    construct: (target, given) => call(handler.construct, given),
    get(target, key) {
      if (key === IS_METHOD) return true;
      if (key === "dup") return refuseMethod; // RPC asks for it, to pass a Proxy on
      const value = target[key];
      return OWN.has(key) ? value.bind(target) : value;
    },
  };
  return new Proxy(property, handler);
}

/** Properties of a stub are no values that RPC can pass on. */
function refuseMethod() {
  throw cloneError('Could not serialize object of type "RpcProperty". This type does not support serialization.');
}

/**
 * The four methods: the argument forms of Cloudflare's, each turned into one message of `pass`. `caller` is the function
 * that user code's stack ends with, if it is there.
 */
export function callsOf(pass) {
  return {
    /** `do(name, callback, rollback?)` or `do(name, config, callback, rollback?)`. */
    async do(caller, name, ...rest) {
      const [config, callback, options] = typeof rest[0] === "function" ? [undefined, ...rest] : rest;
      const { rollback, rollbackConfig } = rollbackOf(name, options);
      const [sent, delay] = withoutDelayFunction(config);
      const [sentRollback, rollbackDelay] = withoutDelayFunction(rollbackConfig);
      const head = { t: "do", at: siteOf("do", name, caller) };
      // Flags are sent only when they are set: most steps have none but the first.
      if (typeof callback === "function") head.callback = true;
      if (delay !== undefined) head.delay = true;
      if (rollback !== undefined) head.rollback = true;
      if (rollbackDelay !== undefined) head.rollbackDelay = true;
      const more = { callback, delay, rollback, rollbackDelay, kept: {} };
      const args = sentRollback !== undefined ? [name, sent, sentRollback] : sent !== undefined ? [name, sent] : [name];
      return pass.call(head, args, more);
    },

    async sleep(caller, name, duration) {
      return pass.call({ t: "sleep", at: siteOf("sleep", name, caller) }, [name, duration]);
    },

    async sleepUntil(caller, name, timestamp) {
      const isTime = typeof timestamp === "string" || timestamp === null || timestamp instanceof Date;
      return pass.call({ t: "sleepUntil", at: siteOf("sleepUntil", name, caller) }, [name, isTime ? msOf(timestamp) : timestamp]);
    },

    async waitForEvent(caller, name, options) {
      void options.timeout; // without options: a TypeError in V8's words
      return pass.call({ t: "waitForEvent", at: siteOf("waitForEvent", name, caller) }, [name, options]);
    },
  };
}

const isObject = (value) => typeof value === "object" && value !== null;

/** The ms of what `new Date()` makes of it: Python has fewer years. What it makes nothing of is refused by its text. */
function msOf(given) {
  const ms = new Date(given).getTime();
  return Number.isNaN(ms) ? String(given) : ms;
}

/** The config as data, and the function that was its `retries.delay`. */
function withoutDelayFunction(config) {
  if (!isObject(config)) return [config, undefined];
  const sent = copyOf(config);
  if (!isObject(sent.retries) || typeof sent.retries.delay !== "function") return [sent, undefined];
  const { delay } = sent.retries;
  return [{ ...sent, retries: { ...sent.retries, delay: null } }, delay];
}

/** The fields of options; what RPC does not take for an object of data is refused, as there. */
function copyOf(options) {
  if (Object.getPrototypeOf(options) !== Object.prototype) encodeArguments(options);
  return { ...options };
}

// These two say what the engine cannot see: what kind of thing user code gave where a function belongs.
function rollbackOf(name, options) {
  if (options === undefined) return {};
  if (!isObject(options)) throw fatal(`Rollback options for "${String(name)}" must be an object`);
  const { rollback, rollbackConfig } = copyOf(options);
  if (typeof rollback !== "function") throw fatal(`Rollback for "${String(name)}" must be a function`);
  return { rollback, rollbackConfig };
}

const fatal = (message) => new Error(`WorkflowFatalError: ${message}`);
