// The Worker that stands in for a Python Worker in Cloudflare's runtime, so that the runtime can do for it what it does
// for every Worker: hold its bindings, deliver its queues, keep its Durable Objects, and let other Workers call it. What
// reaches it is passed to Python over HTTP; what Python asks of its bindings comes over a socket (bindings/held.py).
import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import { decodeTree, encode } from "./codec.mjs";
import { NotSerialisable, describeError } from "./errors.mjs";
import { writeFrame } from "./wire.mjs";

// Of setup.mjs, which may be in another bundle.
let channel, forwarder, runKey, worker;

/** Called by the entry before any request. */
export function __stepwellSetup(setup) {
  ({ channel, forwarder, runKey, worker } = setup);
}

const USE_HEADER = "Stepwell-Use";
const ERROR_HEADER = "Stepwell-Use-Error";
/** Under this name and the class's, the stand-in reaches its own Durable Objects. */
const OBJECTS = "__STEPWELL_OBJECTS_";

// ------------------------------------------------------------------------------------------ what passes to Python

/** The entrypoint class that passes to the Python class `name` (null: the default one); `methods` can be called by RPC. */
export function entrypoint(name, methods) {
  class Entrypoint extends WorkerEntrypoint {
    async fetch(request) {
      const use = request.headers.get(USE_HEADER);
      return use === null ? channel.forward(forwarder, request, worker, { entrypoint: name }) : useOverHttp(request, JSON.parse(use), this.env);
    }

    async queue(batch) {
      await deliver(batch);
    }
  }
  return withMethods(Entrypoint, methods, () => ({ kind: "rpc", entrypoint: name }));
}

/** The Durable Object class that passes to the Python class `name`. */
export function durableObject(name, methods) {
  class PythonObject extends DurableObject {
    // Another token for each object in memory: Python makes a new object when it sees a new one.
    stepwellTarget = { class: name, id: String(this.ctx.id), name: this.ctx.id.name, token: crypto.randomUUID() };

    fetch(request) {
      return channel.forward(forwarder, request, worker, { object: this.stepwellTarget });
    }

    /** A call of `ctx` that Python makes: the text of a frame there and back. */
    async stepwellUse(text) {
      return answered(() => evaluateInObject(JSON.parse(text), this.ctx));
    }
  }
  return withMethods(PythonObject, methods, (object) => ({ kind: "object", object: object.stepwellTarget }));
}

function withMethods(made, methods, headOf) {
  for (const method of methods)
    made.prototype[method] = function (...args) {
      return channel.ask({ worker, ...headOf(this), method }, encode(args.map(plain)));
    };
  return made;
}

async function deliver(batch) {
  const messages = batch.messages.map(({ id, timestamp, attempts }) => ({ id, timestamp: Number(timestamp), attempts }));
  const head = { worker, kind: "queue", queue: batch.queue, messages };
  const { acknowledged, retried, error } = await channel.ask(head, encode(batch.messages.map((message) => message.body)));
  for (const message of batch.messages) {
    if (acknowledged.includes(message.id)) message.ack();
    else if (message.id in retried) message.retry({ delaySeconds: retried[message.id] ?? undefined });
  }
  if (error !== null) throw new Error(error);
}

// ------------------------------------------------------------------------------------------ what Python asks for

/** Handlers for the engine's socket; `kept` lives as long as the socket. */
export function __stepwell(send, env) {
  const kept = new Kept();
  return {
    use: async ({ n, call }) => {
      try {
        const value = await evaluate(call, env, kept);
        const { handle, streams, shown } = kept.describe(value);
        send(writeFrame({ t: "used", n, handle, streams }, encode(shown)));
      } catch (error) {
        send(writeFrame({ t: "used", n, error: describeError(error) }));
      }
    },
    release: ({ handle }) => kept.release(handle),
  };
}

/** What cannot cross, such as an object of R2 or a stream, for further calls. */
class Kept {
  #objects = new Map();
  #readers = new Map();
  #next = 1;

  get(handle) {
    if (!this.#objects.has(handle)) throw new Error("This object is gone: the runtime that held it was started again.");
    return this.#objects.get(handle);
  }

  release(handle) {
    this.#objects.delete(handle);
    this.#readers.delete(handle);
  }

  /** What Python is told of a value: `streams` names its fields that are streams, "" the value itself. */
  describe(value) {
    const isStream = value instanceof ReadableStream;
    if (!isStream && !isKept(value)) return { shown: plain(value) };
    this.#objects.set(this.#next, value);
    return { handle: this.#next++, streams: isStream ? [""] : streamsOf(value), shown: isStream ? null : plain(value) };
  }

  /** The next chunk of a stream; undefined at its end. */
  async read(handle, field) {
    if (!this.#readers.has(handle)) {
      const object = this.get(handle);
      this.#readers.set(handle, (field === "" ? object : object[field]).getReader());
    }
    const { value } = await this.#readers.get(handle).read();
    return value;
  }
}

// `{binding | handle | object, calls: [[method, args], ...]}`; methods that are awaited in between need not be.
async function evaluate(call, env, kept) {
  if (call.object !== undefined) return evaluateOverThere(call, env);
  if (call.read !== undefined) return kept.read(call.handle, call.read);
  let value = call.binding === undefined ? kept.get(call.handle) : env[call.binding];
  for (const [method, args] of call.calls) {
    const given = [];
    for (const arg of args) given.push(await argument(arg, env, kept));
    value = await value[method](...given);
  }
  return value;
}

async function argument(arg, env, kept) {
  if ("call" in arg) return evaluate(arg.call, env, kept);
  if ("list" in arg) return Promise.all(arg.list.map((one) => argument(one, env, kept)));
  if ("id" in arg) return idOf(arg.id, env);
  return decodeTree(arg.value);
}

function idOf({ binding, name, hex }, env) {
  return name === null ? env[binding].idFromString(hex) : env[binding].idFromName(name);
}

/** A request from Python: for a binding's `fetch`, or a call that it waits for without its event loop. */
async function useOverHttp(request, { proof, call, fetch }, env) {
  if (!(await runKey.accepts("use", proof))) return new Response(null, { status: 404 });
  const kept = new Kept();
  if (fetch === undefined) return new Response(await answered(() => evaluate(call, env, kept)));
  try {
    const target = await evaluate(call, env, kept);
    return await target.fetch(asPythonMadeIt(request, fetch));
  } catch (error) {
    return new Response(JSON.stringify(describeError(error)), { status: 500, headers: { [ERROR_HEADER]: "1" } });
  }
}

function asPythonMadeIt(request, { url, method, headers, redirect, hasBody }) {
  return new Request(url, { method, headers, redirect, body: hasBody ? request.body : undefined });
}

async function answered(evaluated) {
  try {
    return writeFrame({}, encode(plain(await evaluated())));
  } catch (error) {
    return writeFrame({ error: describeError(error) });
  }
}

// ------------------------------------------------------------------------------------------ inside Durable Objects

async function evaluateOverThere({ object: { class: name, id }, ...call }, env) {
  const namespace = env[OBJECTS + name];
  const text = await namespace.get(namespace.idFromString(id)).stepwellUse(JSON.stringify(call));
  const at = text.indexOf("\n");
  const head = JSON.parse(at < 0 ? text : text.slice(0, at));
  if (head.error) throw Object.assign(new Error(head.error.message), { name: head.error.name });
  return decodeTree(JSON.parse(text.slice(at + 1)));
}

async function evaluateInObject({ calls, sql, abort }, ctx) {
  if (abort !== undefined) return ctx.abort(abort ?? undefined);
  if (sql !== undefined) return rowsOf(ctx.storage.sql.exec(sql.query, ...sql.bindings.map(decodeTree)));
  let value = ctx.storage;
  for (const [name, args] of calls) value = args === null ? value[name] : await value[name](...args.map((one) => decodeTree(one.value)));
  return typeof value?.next === "function" ? [...value] : value;
}

function rowsOf(cursor) {
  const rows = [...cursor.raw()];
  return { columnNames: cursor.columnNames, rows, rowsRead: cursor.rowsRead, rowsWritten: cursor.rowsWritten };
}

// ------------------------------------------------------------------------------------------ what Python can see

const isPlain = (value) => [Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value));
const isObject = (value) => typeof value === "object" && value !== null;

function isKept(value) {
  if (!isObject(value) || isPlain(value)) return false;
  try {
    encode(value);
    return false;
  } catch (error) {
    return error instanceof NotSerialisable ? !(value instanceof ReadableStream) : true;
  }
}

/** What can be seen of a value: objects of classes become their fields. */
function plain(value) {
  if (!isObject(value)) return typeof value === "function" ? undefined : value;
  if (Array.isArray(value)) return value.map(plain);
  if (isPlain(value)) return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]));
  return isKept(value) ? fieldsOf(value) : value;
}

function fieldsOf(object) {
  const fields = {};
  for (const [key, seen] of gettersOf(object))
    if (!(seen instanceof ReadableStream) && typeof seen !== "function") fields[key] = plain(seen);
  return fields;
}

const streamsOf = (object) => [...gettersOf(object)].filter(([, seen]) => seen instanceof ReadableStream).map(([key]) => key);

function* gettersOf(object) {
  const met = new Set(["constructor"]);
  for (let p = object; p && p !== Object.prototype; p = Object.getPrototypeOf(p))
    for (const [key, { get, value }] of Object.entries(Object.getOwnPropertyDescriptors(p))) {
      if (met.has(key) || typeof value === "function") continue;
      met.add(key);
      yield [key, get ? Reflect.get(object, key) : value];
    }
}
