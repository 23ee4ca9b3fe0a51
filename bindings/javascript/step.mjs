// The `step` of run(): the argument forms of Cloudflare's methods, each turned into one message.
import { siteOf } from "./site.mjs";

const isObject = (value) => typeof value === "object" && value !== null;

export class WorkflowStep {
  #pass;

  constructor(pass) {
    this.#pass = pass;
  }

  /** `do(name, callback, rollback?)` or `do(name, config, callback, rollback?)`. */
  async do(name, ...rest) {
    const [config, callback, options] = typeof rest[0] === "function" ? [undefined, ...rest] : rest;
    const { rollback, rollbackConfig } = rollbackOf(name, options);
    const [sent, delay] = withoutDelayFunction(config);
    const [sentRollback, rollbackDelay] = withoutDelayFunction(rollbackConfig);
    const head = { t: "do", at: siteOf(methods.do, name) };
    // Flags are sent only when they are set: most steps have none but the first.
    if (typeof callback === "function") head.callback = true;
    if (delay !== undefined) head.delay = true;
    if (rollback !== undefined) head.rollback = true;
    if (rollbackDelay !== undefined) head.rollbackDelay = true;
    const more = { callback, delay, rollback, rollbackDelay, kept: {} };
    const args = sentRollback !== undefined ? [name, sent, sentRollback] : sent !== undefined ? [name, sent] : [name];
    return this.#pass.call(head, args, more);
  }

  async sleep(name, duration) {
    return this.#pass.call({ t: "sleep", at: siteOf(methods.sleep, name) }, [name, duration]);
  }

  async sleepUntil(name, timestamp) {
    const isTime = typeof timestamp === "string" || timestamp === null || timestamp instanceof Date;
    return this.#pass.call({ t: "sleepUntil", at: siteOf(methods.sleepUntil, name) }, [name, isTime ? msOf(timestamp) : timestamp]);
  }

  async waitForEvent(name, options) {
    void options.timeout; // without options: a TypeError in V8's words
    return this.#pass.call({ t: "waitForEvent", at: siteOf(methods.waitForEvent, name) }, [name, options]);
  }
}

const methods = WorkflowStep.prototype;

/** The ms of what `new Date()` makes of it: Python has fewer years. What it makes nothing of is refused by its text. */
function msOf(given) {
  const ms = new Date(given).getTime();
  return Number.isNaN(ms) ? String(given) : ms;
}

/** The config as data, and the function that was its `retries.delay`. */
function withoutDelayFunction(config) {
  if (config === null) return [false, undefined]; // wrong, while undefined is none
  if (!isObject(config)) return [config, undefined];
  const sent = defined(config);
  if (sent.retries === undefined) return [sent, undefined];
  const { delay } = sent.retries; // fails for null, as on Cloudflare (contract case config-retries-null)
  if (!isObject(sent.retries)) return [sent, undefined];
  sent.retries = defined(sent.retries);
  if (typeof delay !== "function") return [sent, undefined];
  sent.retries.delay = null;
  return [sent, delay];
}

// A field that is undefined is absent; but one that no config has is wrong all the same.
const FIELDS = ["retries", "timeout", "sensitive", "limit", "delay", "backoff"];

function defined(object) {
  return Object.fromEntries(Object.entries(object).filter(([key, value]) => value !== undefined || !FIELDS.includes(key)));
}

// These two say what the engine cannot see: what kind of thing user code gave where a function belongs.
function rollbackOf(name, options) {
  if (options === undefined) return {};
  if (!isObject(options)) throw fatal(`Rollback options for "${String(name)}" must be an object`);
  const { rollback, rollbackConfig } = options;
  if (rollback === undefined) return {};
  if (typeof rollback !== "function") throw fatal(`Rollback for "${String(name)}" must be a function`);
  return { rollback, rollbackConfig };
}

const fatal = (message) => new Error(`WorkflowFatalError: ${message}`);
