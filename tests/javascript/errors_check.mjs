// Run by test_codec.py: what is told of anything thrown, and how an error comes back.
import assert from "node:assert/strict";
import { describeError, reviveError } from "../../bindings/javascript/errors.mjs";

const told = (thrown) => {
  const { name, message } = describeError(thrown);
  return [name, message];
};

class Mine extends Error {}
assert.deepEqual(told(new TypeError("t")), ["TypeError", "t"]);
assert.deepEqual(told(new Mine("m")), ["Error", "m"]);
assert.deepEqual(told(Object.assign(new Error("m"), { name: "Mine" })), ["Mine", "m"]);
assert.deepEqual(told("text"), ["Error", "text"]);
assert.deepEqual(told(null), ["Error", "null"]);
assert.deepEqual(told(undefined), ["Error", "undefined"]);
assert.deepEqual(told({ name: "N", message: "m" }), ["Error", "#<Object>"]);
assert.deepEqual(told(Symbol("s")), ["Error", "Symbol(s)"]);

assert.deepEqual(told(Object.create(null)), ["Error", "[object Object]"]);

const aborted = describeError(new DOMException("stopped", "AbortError"));
assert.ok(aborted.dom && reviveError(aborted) instanceof DOMException);
assert.equal(reviveError(aborted).name, "AbortError");
assert.ok(reviveError(describeError(new AggregateError([], "all"))) instanceof AggregateError);

const withCause = describeError(new Error("outer", { cause: new RangeError("inner") }));
assert.equal(withCause.cause.name, "RangeError");
const endless = new Error("e");
endless.cause = endless;
assert.equal(describeError(endless).message, "e");

const back = reviveError({ name: "TypeError", message: "t", cause: { name: "Error", message: "why" } });
assert.ok(back instanceof TypeError);
assert.equal(back.cause.message, "why");
assert.equal(back.stack, "TypeError: t");
assert.equal(reviveError({ name: "DataCloneError", message: "d" }).name, "DataCloneError");
assert.equal(reviveError({ name: "Unheard", message: "u" }).name, "Error");
process.stdout.write("ok");
