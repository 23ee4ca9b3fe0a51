// Run by test_codec.py: values that JSON cannot say, each with what encoding it gives and what comes back.
import assert from "node:assert/strict";
import { decode, encode, encodeArguments } from "../../bindings/javascript/codec.mjs";

const copy = { a: [1] };
const cycle = { name: "loop" };
cycle.self = cycle;
const texts = {
  undefined: [undefined, '{"$":"undefined"}'],
  "undefined member": [{ a: undefined, b: 1 }, '{"a":{"$":"undefined"},"b":1}'],
  hole: [[, 1], '{"$":"array","n":2,"v":[["1",1]]}'],
  "field beside items": [Object.assign([1], { index: 0 }), '{"$":"array","n":1,"v":[["0",1],["index",0]]}'],
  "hole and a field": [Object.assign([, 1], { x: 2 }), '{"$":"array","n":2,"v":[["1",1],["x",2]]}'],
  "object met twice": [[copy, copy], '[{"a":[1]},{"$":"ref","v":1}]'],
  "error whose cause is undefined": [
    new Error("m", { cause: undefined }),
    '{"$":"error","v":{"name":"Error","message":"m","cause":{"$":"undefined"}}}',
  ],
  "minus zero": [-0, '{"$":"number","v":"-0"}'],
  NaN: [NaN, '{"$":"number","v":"NaN"}'],
  "beyond safe integers": [2 ** 60, '{"$":"number","v":"1152921504606847000"}'],
  bigint: [12n, '{"$":"bigint","v":"12"}'],
  date: [new Date(5), '{"$":"date","v":5}'],
  "invalid date": [new Date(NaN), '{"$":"date","v":null}'],
  map: [new Map([["a", new Set([1])]]), '{"$":"map","v":[["a",{"$":"set","v":[1]}]]}'],
  bytes: [new Uint8Array([1, 2]), '{"$":"bytes","t":"Uint8Array","v":"AQI="}'],
  "part of a buffer": [
    new Uint8Array([1, 2, 3]).subarray(1, 2),
    '{"$":"view","t":"Uint8Array","v":{"$":"bytes","t":"ArrayBuffer","v":"AQID"},"at":1,"n":1}',
  ],
  floats: [new Float32Array([1]), '{"$":"bytes","t":"Float32Array","v":"AACAPw=="}'],
  "node's own buffer": [Buffer.from(new Uint8Array([1]).buffer), '{"$":"bytes","t":"Uint8Array","v":"AQ=="}'],
  view: [new DataView(new ArrayBuffer(1)), '{"$":"bytes","t":"DataView","v":"AA=="}'],
  pattern: [/a+/gi, '{"$":"regexp","v":"a+","flags":"gi"}'],
  error: [new RangeError("far"), '{"$":"error","v":{"name":"RangeError","message":"far"}}'],
  "error with a name of its own": [Object.assign(new Error("m"), { name: "Mine" }), '{"$":"error","v":{"name":"Error","message":"m"}}'],
  "dollar key": [{ $: "date", v: 1 }, '{"$":"object","v":[["$","date"],["v",1]]}'],
  cycle: [cycle, '{"name":"loop","self":{"$":"ref","v":0}}'],
  "__proto__ as a key": [JSON.parse('{"__proto__":[1]}'), '{"__proto__":[1]}'],
  boxed: [[new Number(1), new String("s"), new Boolean(true), Object(1n)], '[{"$":"boxed","v":1},{"$":"boxed","v":"s"},{"$":"boxed","v":true},{"$":"boxed","v":{"$":"bigint","v":"1"}}]'],
  "error with a cause": [
    new Error("m", { cause: [new TypeError("why")] }),
    '{"$":"error","v":{"name":"Error","message":"m","cause":[{"$":"error","v":{"name":"TypeError","message":"why"}}]}}',
  ],
  "several errors in one": [new AggregateError([new Error("1")], "m"), '{"$":"error","v":{"name":"Error","message":"m"}}'],
  "exception of the web": [new DOMException("m", "AbortError"), '{"$":"error","v":{"name":"AbortError","message":"m","dom":true}}'],
};
for (const [name, [value, text]] of Object.entries(texts)) {
  assert.equal(encode(value), text, name);
  assert.equal(encode(value, Buffer.byteLength(text)), text, `${name}, exactly as long as it may be`);
  assert.equal(encode(decode(text)), text, `${name}, back`);
}

class Point {}
const deep = () => {
  let value = [];
  for (let i = 0; i < 200_000; i++) value = [value];
  return value;
};
const refused = {
  function: [() => 1, "NotSerialisable", "the function (anonymous) at $ cannot be stored"],
  "function inside": [{ items: [1, { callback() {} }] }, "NotSerialisable", "the function callback at $.items[1].callback cannot be stored"],
  stream: [{ s: new ReadableStream() }, "NotSerialisable", "a ReadableStream at $.s cannot be stored"],
  deep: [deep(), "NotSerialisable", "a value nested too deeply at $ cannot be stored"],
  "without a prototype": [
    { groups: /(?<a>.)/.exec("b").groups },
    "DOMException",
    'Could not serialize object of type "Object". This type does not support serialization.',
  ],
  promise: [{ p: Promise.resolve(1) }, "DOMException", "#<Promise> could not be cloned."],
  "weak map": [new WeakMap(), "DOMException", "#<WeakMap> could not be cloned."],
  symbol: [Symbol("s"), "DOMException", "Symbol(s) could not be cloned."],
  instance: [[new Point()], "DOMException", 'Could not serialize object of type "Point". This type does not support serialization.'],
};
for (const [name, [value, kind, message]] of Object.entries(refused)) {
  assert.throws(() => encode(value), (error) => error.constructor.name === kind && error.message === message, name);
}

assert.equal(encodeArguments({ timeout: () => 1 }), '{"timeout":{}}');
assert.throws(() => encodeArguments(Object.create(null)), { name: "DataCloneError" });
assert.equal(decode('{"$":"error","v":{"name":"TimeoutError","message":"m","dom":true}}').name, "TimeoutError");
assert.notEqual(decode(encode(copy)).a, copy.a);
const large = [new Array(100).fill("x".repeat(100)), new Uint8Array(10_000), new Map([["k", ["y".repeat(9_999), undefined]]]), new Array(5_000).fill(1)];
for (const value of large) assert.throws(() => encode(value, 9_999), (error) => error.constructor.name === "TooLarge");
process.stdout.write("ok");
