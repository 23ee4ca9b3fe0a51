// Errors between user code and the engine: what is told of one, and how one comes back.

/** A value that structured clone refuses for good; `path` leads to it inside the value. */
export class NotSerialisable extends Error {
  constructor(path, what) {
    super(`${what} at ${path} cannot be stored`);
    this.path = path;
    this.what = what;
  }
}

/** A value whose text would be longer than it may be. */
export class TooLarge extends Error {}

export const cloneError = (message) => new DOMException(message, "DataCloneError");

const MAKERS = {
  Error: (message) => new Error(message),
  TypeError: (message) => new TypeError(message),
  RangeError: (message) => new RangeError(message),
  SyntaxError: (message) => new SyntaxError(message),
  ReferenceError: (message) => new ReferenceError(message),
  EvalError: (message) => new EvalError(message),
  URIError: (message) => new URIError(message),
  AggregateError: (message) => new AggregateError([], message),
  DataCloneError: cloneError,
};

/**
 * The error of `{name, message, stack?, cause?, dom?}`, of the class with that name, or a DOMException. Names that the
 * language does not have never come here: the engine's side folds them into the message, as Workers RPC does.
 */
export function reviveError({ name, message, stack, cause, dom }) {
  const error = dom ? new DOMException(message ?? "", name) : (MAKERS[name] ?? MAKERS.Error)(message ?? "");
  // Else the stack would show this file.
  setQuietly(error, "stack", stack ?? `${error.name}: ${error.message}`);
  if (cause !== undefined) setQuietly(error, "cause", reviveError(cause));
  return error;
}
reviveError.names = new Set(Object.keys(MAKERS));

export function setQuietly(error, key, value) {
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable: false });
}

/** What is told of anything thrown: `{name, message, stack?, cause?, dom?}` (contract cases errors-string, errors-object). */
export function describeError(thrown, depth = 0) {
  try {
    return described(thrown, depth);
  } catch {
    return { name: "Error", message: "<an error which cannot be described: reading it throws>" };
  }
}

function described(thrown, depth) {
  if (!(thrown instanceof Error)) return { name: "Error", message: thrownText(thrown) };
  const out = { name: textOf(thrown.name, "Error"), message: textOf(thrown.message, "") };
  if (typeof thrown.stack === "string") out.stack = thrown.stack;
  if (thrown instanceof DOMException) out.dom = true;
  if (thrown.cause !== undefined && depth < 8) out.cause = describeError(thrown.cause, depth + 1);
  return out;
}

function textOf(value, otherwise) {
  try {
    return value === undefined ? otherwise : String(value);
  } catch {
    return otherwise;
  }
}

// V8's wording for what is thrown and no error: "#<Object>", "[object Array]".
function thrownText(thrown) {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  const tag = Object.prototype.toString.call(thrown);
  if (tag !== "[object Object]" || Object.getPrototypeOf(thrown) === null) return tag;
  return `#<${thrown.constructor?.name || "Object"}>`;
}
