// Structured-clone values as text: the JavaScript half of bindings/values/__init__.py, whose docstring has the format.
// tests/unit/bindings/values/vectors.json holds both halves to it.
import { NotSerialisable, TooLarge, cloneError, reviveError, setQuietly } from "./errors.mjs";

const SAFE_INTEGER = 2 ** 53;
const UNDEFINED = { $: "undefined" };

/**
 * The text of a value. Throws `NotSerialisable` for what can never be stored, a DataCloneError for what RPC refuses.
 * `most`: a text that is certain to have more bytes is not written; then throws `TooLarge`.
 */
export function encode(value, most = Infinity) {
  return write(() => new Encoder(false).tree(value, "$"), value, most);
}

/**
 * As `encode`, for the arguments of a step or a call, which the engine checks: functions become `{}`, which is of the
 * wrong type wherever a function would be.
 */
export function encodeArguments(value) {
  return write(() => new Encoder(true).tree(value, "$"), value, Infinity);
}

// The bytes that are left for the text being encoded. The count never exceeds the real size, so nothing is refused early.
let left = Infinity;

function count(bytes) {
  left -= bytes;
  if (left < 0) throw new TooLarge();
}

/** The value of a text; new objects at each call. */
export function decode(text) {
  const tree = JSON.parse(text);
  return text.includes('"$"') ? new Decoder().value(tree) : tree;
}

/** The value of a text that was parsed already, as it stands inside of a message. */
export const decodeTree = (tree) => new Decoder().value(tree);

function write(tree, value, most) {
  const counted = (read) => {
    left = most;
    return read();
  };
  try {
    return JSON.stringify(counted(() => isPlain(value)) ? value : counted(tree));
  } catch (error) {
    if (error instanceof RangeError) return writeDeep(() => counted(tree));
    throw error;
  }
}

// Either a cycle, which the tagged form can say, or a value too deep for both.
function writeDeep(tree) {
  try {
    return JSON.stringify(tree());
  } catch (error) {
    if (error instanceof RangeError) throw new NotSerialisable("$", "a value nested too deeply");
    throw error;
  }
}

/** Whether JSON says the value as it is; `seen` are the containers that were met. */
function isPlain(value, seen) {
  switch (typeof value) {
    case "string":
      count(value.length);
      return true;
    case "boolean":
      return true;
    case "number":
      return Math.abs(value) < SAFE_INTEGER && !Object.is(value, -0);
    case "object":
      return value === null || isPlainContainer(value, seen ?? new Set());
    default:
      return false;
  }
}

function isPlainContainer(value, seen) {
  if (seen.has(value)) return false;
  seen.add(value);
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Array.prototype) {
    for (let i = 0; i < value.length; i++) {
      count(2);
      if (!isPlain(value[i], seen)) return false;
    }
    return isDense(value);
  }
  if (prototype !== Object.prototype || Object.hasOwn(value, "$") || "toJSON" in value) return false;
  for (const key of Object.keys(value)) {
    count(key.length + 4);
    if (!isPlain(value[key], seen)) return false;
  }
  return true;
}

/** Whether an array has all of its items and nothing beside them. */
function isDense(array) {
  const keys = Object.keys(array);
  return keys.length === array.length && (keys.length === 0 || keys.at(-1) === String(array.length - 1));
}

// ---------------------------------------------------------------------------------------------------- encoding

/** One pass over one value; numbers the objects that it meets, to name those that it meets again. */
class Encoder {
  #met = new Map(); // object -> the tree that names it from now on
  #containers = 0;
  #leaves = 0;
  #buffers = new Map(); // ArrayBuffer -> the number of the leaf that brings its bytes

  constructor(lenient) {
    this.lenient = lenient;
  }

  tree(value, path) {
    switch (typeof value) {
      case "undefined":
        return UNDEFINED;
      case "string":
        count(value.length);
        return value;
      case "boolean":
        return value;
      case "number":
        return numberTree(value);
      case "bigint":
        return { $: "bigint", v: String(value) };
      case "symbol":
        throw cloneError(`${String(value)} could not be cloned.`);
      case "function":
        if (this.lenient) return {};
        throw new NotSerialisable(path, `the function ${value.name || "(anonymous)"}`);
      default:
        return value === null ? null : (this.#met.get(value) ?? this.#object(value, path));
    }
  }

  #object(value, path) {
    if (isContainer(value)) {
      this.#met.set(value, { $: "ref", v: this.#containers++ });
      return this.#container(value, path);
    }
    if (value instanceof Error) return this.#error(value, path);
    if (ArrayBuffer.isView(value)) return this.#view(value);
    if (value instanceof ArrayBuffer) return this.#buffer(value);
    const leaf = leafTree(value);
    if (leaf === undefined) return this.#refuse(value, path);
    this.#number(value);
    return leaf;
  }

  /** Gives a leaf its number. */
  #number(value) {
    this.#met.set(value, { $: "same", v: this.#leaves });
    return this.#leaves++;
  }

  #refuse(value, path) {
    if (isStub(value)) {
      if (this.lenient) return {};
      throw new NotSerialisable(path, `a ${value.constructor?.name ?? "value"}`);
    }
    const name = value.constructor?.name || "Object";
    const tag = Object.prototype.toString.call(value);
    if (GENERATORS.includes(tag)) throw cloneError(`${tag} could not be cloned.`);
    if (V8_ONLY.some((kind) => value instanceof kind)) throw cloneError(`#<${name}> could not be cloned.`);
    throw cloneError(`Could not serialize object of type "${name}". This type does not support serialization.`);
  }

  #error(error, path) {
    this.#number(error);
    const v = { name: builtInName(error), message: String(error.message) };
    if (error instanceof DOMException) v.dom = true;
    if (Object.hasOwn(error, "cause")) v.cause = this.tree(error.cause, `${path}.cause`);
    return { $: "error", v };
  }

  #buffer(buffer) {
    const brings = this.#buffers.get(buffer);
    if (brings !== undefined) return { $: "buffer", v: brings };
    this.#buffers.set(buffer, this.#number(buffer));
    return bytesTree("ArrayBuffer", buffer);
  }

  #view(view) {
    const { buffer, byteOffset: at, byteLength: n } = view;
    const number = this.#number(view);
    if (n === buffer.byteLength && !this.#buffers.has(buffer)) {
      this.#buffers.set(buffer, number);
      return bytesTree(viewName(view), buffer);
    }
    return { $: "view", t: viewName(view), v: this.#buffer(buffer), at, n };
  }

  #container(value, path) {
    if (Array.isArray(value)) return isDense(value) ? this.#items(value, path) : this.#sparse(value, path);
    if (value instanceof Set) return { $: "set", v: this.#items(value, path) };
    if (value instanceof Map) {
      const pair = ([k, v], i) => [this.tree(k, `${path}[${i}][0]`), this.tree(v, `${path}[${i}][1]`)];
      return { $: "map", v: Array.from(value, pair) };
    }
    const pairs = this.#pairs(value, path);
    return Object.hasOwn(value, "$") ? { $: "object", v: pairs } : fromPairs(pairs);
  }

  #items(values, path) {
    return Array.from(values, (item, i) => {
      count(2);
      return this.tree(item, `${path}[${i}]`);
    });
  }

  #pairs(value, path) {
    return Object.keys(value).map((key) => {
      count(key.length + 4);
      return [key, this.tree(value[key], `${path}.${key}`)];
    });
  }

  #sparse(array, path) {
    return { $: "array", n: array.length, v: this.#pairs(array, path) };
  }
}

// Objects without a prototype, such as the groups of a RegExp, are none to Workers RPC.
function isContainer(value) {
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) return true;
  return Object.getPrototypeOf(value) === Object.prototype;
}

// What V8 refuses by itself, in its own words. Workers of before 2025-05-05 have no WeakRef.
const V8_ONLY = [Promise, WeakMap, WeakSet, globalThis.WeakRef].filter(Boolean);

const GENERATORS = ["[object Generator]", "[object AsyncGenerator]"];

/** What Workers RPC would pass as a stub or a stream: it crosses, but cannot be stored. */
function isStub(value) {
  const kinds = [globalThis.ReadableStream, globalThis.WritableStream, globalThis.Request, globalThis.Response];
  if (kinds.some((kind) => kind && value instanceof kind)) return true;
  for (let p = Object.getPrototypeOf(value); p; p = Object.getPrototypeOf(p))
    if (["RpcTarget", "RpcStub", "RpcPromise", "RpcProperty", "Fetcher"].includes(p.constructor?.name)) return true;
  return false;
}

// Whole numbers beyond 2**53 are tagged: Python would read them as a BigInt.
function numberTree(value) {
  if (Object.is(value, -0)) return { $: "number", v: "-0" };
  if (!Number.isFinite(value)) return { $: "number", v: String(value) };
  const text = String(value);
  return Math.abs(value) >= SAFE_INTEGER && !text.includes("e") ? { $: "number", v: text } : value;
}

/** Undefined for a value that is none of the leaves. */
function leafTree(value) {
  if (value instanceof Date) return { $: "date", v: Number.isNaN(value.getTime()) ? null : value.getTime() };
  if (value instanceof RegExp) return { $: "regexp", v: sourceOf(value), flags: value.flags };
  if (value instanceof Number) return { $: "boxed", v: numberTree(value.valueOf()) };
  if (value instanceof BigInt) return { $: "boxed", v: { $: "bigint", v: String(value) } };
  if (value instanceof String || value instanceof Boolean) return { $: "boxed", v: value.valueOf() };
  return undefined;
}

// `source` escapes slashes, which only a literal needs.
const sourceOf = (pattern) => pattern.source.replace(/\\([^])/g, (pair, c) => (c === "/" ? c : pair));

/** Structured clone knows no other names of errors; an AggregateError becomes an Error. */
function builtInName(error) {
  const name = String(error.name);
  if (error instanceof DOMException) return name;
  return reviveError.names.has(name) && name !== "AggregateError" ? name : "Error";
}

// Subclasses (Node's Buffer) arrive as the class that the language knows.
const viewName = (view) => (view instanceof DataView ? "DataView" : view[Symbol.toStringTag]);

function bytesTree(name, buffer) {
  count((buffer.byteLength * 4) / 3);
  return { $: "bytes", t: name, v: toBase64(new Uint8Array(buffer)) };
}

/** An object of these pairs; `__proto__` is a key like any other. */
function fromPairs(pairs, out = {}) {
  for (const [key, value] of pairs) {
    if (key === "__proto__") Object.defineProperty(out, key, { value, writable: true, enumerable: true, configurable: true });
    else out[key] = value;
  }
  return out;
}

// ---------------------------------------------------------------------------------------------------- decoding

/** One pass over one tree; numbers the objects as the encoder did. */
class Decoder {
  #containers = [];
  #leaves = [];

  value(tree) {
    if (typeof tree !== "object" || tree === null) return tree;
    if (Array.isArray(tree)) return this.#list(tree);
    return "$" in tree ? this.#tagged(tree) : this.#fields(Object.entries(tree));
  }

  #opened(container) {
    this.#containers.push(container);
    return container;
  }

  #leaf(leaf) {
    this.#leaves.push(leaf);
    return leaf;
  }

  #list(items) {
    const out = this.#opened([]);
    for (const item of items) out.push(this.value(item));
    return out;
  }

  #fields(pairs, made = {}) {
    const out = this.#opened(made);
    for (const [key, value] of pairs) fromPairs([[key, this.value(value)]], out);
    return out;
  }

  #error({ name, message, dom, cause }) {
    const error = this.#leaf(reviveError({ name, message, dom }));
    if (cause !== undefined) setQuietly(error, "cause", this.value(cause));
    return error;
  }

  #view({ t, v, at, n }) {
    const number = this.#leaves.push(undefined) - 1;
    const View = VIEWS.get(t) ?? Uint8Array;
    return (this.#leaves[number] = new View(this.value(v), at, n / (View.BYTES_PER_ELEMENT ?? 1)));
  }

  #buffer(number) {
    const leaf = this.#leaves[number];
    return leaf instanceof ArrayBuffer ? leaf : leaf.buffer;
  }

  #tagged(tree) {
    const { $: kind, v, t, flags } = tree;
    switch (kind) {
      case "undefined":
        return undefined;
      case "number":
        return Number(v);
      case "bigint":
        return BigInt(v);
      case "date":
        return this.#leaf(new Date(v ?? NaN));
      case "regexp":
        return this.#leaf(new RegExp(v, flags ?? ""));
      case "error":
        return this.#error(v);
      case "bytes":
        return this.#leaf(bytesOf(t, fromBase64(v)));
      case "view":
        return this.#view(tree);
      case "buffer":
        return this.#buffer(v);
      case "boxed":
        return this.#leaf(Object(this.value(v)));
      case "same":
        return this.#leaves[v];
      case "array":
        return this.#fields(v, Object.assign([], { length: tree.n }));
      case "object":
        return this.#fields(v);
      case "ref":
        return this.#containers[v];
      case "map": {
        const out = this.#opened(new Map());
        for (const [key, value] of v) out.set(this.value(key), this.value(value));
        return out;
      }
      case "set": {
        const out = this.#opened(new Set());
        for (const item of v) out.add(this.value(item));
        return out;
      }
    }
    throw new Error(`unknown kind of value "${kind}"`);
  }
}

const VIEWS = new Map(
  [
    "DataView", "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array",
    "Uint32Array", "Float16Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array",
  ].map((name) => [name, globalThis[name]]),
);

function bytesOf(name, bytes) {
  if (name === "ArrayBuffer") return bytes.buffer;
  const View = VIEWS.get(name) ?? Uint8Array;
  return View === Uint8Array ? bytes : new View(bytes.buffer);
}

// ---------------------------------------------------------------------------------------------------- base64

const PIECE = 0x8000;

function toBase64(bytes) {
  if (bytes.toBase64) return bytes.toBase64();
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE)
    text += String.fromCharCode.apply(null, bytes.subarray(at, at + PIECE));
  return btoa(text);
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}
