// The Worker that holds the other bindings of a Python Worker: it makes the calls that Python asks for, and keeps what
// cannot cross, such as an object of R2, for further calls. bindings/held.py is the other side.
import { decodeTree, encode } from "./codec.mjs";
import { NotSerialisable, describeError } from "./errors.mjs";
import { writeFrame } from "./wire.mjs";

export default {};

/** Handlers for the engine's socket; `kept` lives as long as the socket. */
export function __stepwell(send, env) {
  const kept = new Map();
  let next = 1;
  const keep = (object) => {
    kept.set(next, object);
    return next++;
  };
  return {
    use: async ({ n, call }) => {
      try {
        const value = await evaluate(call, env, kept);
        const handle = isKept(value) ? keep(value) : undefined;
        const shown = value instanceof ReadableStream ? new Uint8Array(await new Response(value).arrayBuffer()) : plain(value);
        send(writeFrame({ t: "used", n, handle }, encode(shown)));
      } catch (error) {
        send(writeFrame({ t: "used", n, error: describeError(error) }));
      }
    },
    release: ({ handle }) => kept.delete(handle),
  };
}

// `{binding | handle, calls: [[method, args], ...]}`; methods that are awaited in between need not be.
async function evaluate({ binding, handle, calls }, env, kept) {
  let value = binding === undefined ? kept.get(handle) : env[binding];
  for (const [method, args] of calls) {
    const given = [];
    for (const arg of args) given.push(await argument(arg, env, kept));
    value = await value[method](...given);
  }
  return value;
}

async function argument(arg, env, kept) {
  if ("call" in arg) return evaluate(arg.call, env, kept);
  if ("list" in arg) return Promise.all(arg.list.map((one) => argument(one, env, kept)));
  return decodeTree(arg.value);
}

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
  for (let p = object; p && p !== Object.prototype; p = Object.getPrototypeOf(p))
    for (const [key, { get, value }] of Object.entries(Object.getOwnPropertyDescriptors(p))) {
      if (key in fields || key === "constructor" || typeof value === "function") continue;
      const seen = get ? Reflect.get(object, key) : value;
      if (!(seen instanceof ReadableStream) && typeof seen !== "function") fields[key] = plain(seen);
    }
  return fields;
}
