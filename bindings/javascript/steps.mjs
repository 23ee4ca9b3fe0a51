// One pass of run(): the `step` that user code is given, and the callbacks that the engine asks to be run.
// The engine decides everything: here every step is a message and an answer (emulator/worker/workerd/wire.py).
import { decode, encode, encodeArguments } from "./codec.mjs";
import { NotSerialisable, TooLarge, describeError, reviveError } from "./errors.mjs";
import { currentScope, within } from "./scope.mjs";
import { callsOf, stepOf } from "./step.mjs";
import { OutgoingStream, openStream } from "./streams.mjs";
import { callUnseen, constructUnseen } from "./unseen.mjs";
import { watchPasses } from "./watch.mjs";
import { writeFrame } from "./wire.mjs";

export class Pass {
  #send;
  #channel;
  #env;
  #of; // the instance, as every scope names it
  #calls = new Map(); // open step calls by id: {resolve, reject, callback, delay, rollback, kept}
  #streams = new Map(); // what steps returned and the engine reads, by number
  #nextId = 1;
  #opening; // the stream that user code is about to be given
  #executing = 0; // callbacks under way
  #limits; // the largest step result and output, in bytes

  /** `send` writes a frame; `channel` reaches the engine for streams; `env` is the Worker's. */
  constructor(send, channel, env) {
    this.#send = send;
    this.#channel = channel;
    this.#env = env;
  }

  /** Runs run() of an object of `Class` once, and tells how it ended. */
  run(head, body, Class, ctx) {
    this.#limits = head.limits.map((most) => most ?? Infinity);
    this.#of = { workflowName: head.workflowName, instanceId: head.instanceId };
    if (head.watch) {
      watchPasses();
      this.#of.watch = this.#watch();
    }
    const running = within(this.#of, this.#env, () =>
      constructUnseen(Class, [ctx, this.#env]).then((object) =>
        callUnseen(object.run, object, [eventOf(head, body), stepOf(callsOf(this))]),
      ),
    );
    running.then(
      (output) => this.#tell({ t: "returned" }, () => encode(output, this.#limits[1])),
      (error) => this.#send(writeFrame({ t: "raised", error: describeError(error) })),
    );
  }

  /** Tells the engine what run() reads outside of steps, and which step races with another. */
  #watch() {
    return {
      read: (what, name, stack) => this.#send(writeFrame({ t: "read", what, name, stack })),
      race: (stack) => {
        const [racing] = this.#calls.values();
        if (racing) this.#send(writeFrame({ t: "race", kind: racing.kind, name: racing.name, stack }));
      },
    };
  }

  receive(head, body) {
    const handler = HANDLERS[head.t];
    if (handler === undefined) throw new Error(`unknown message "${head.t}"`);
    return handler.call(this, head, body);
  }

  /** A step call: sends it, and resolves with what the engine answers. `more` is kept for callbacks. */
  call(head, args, more = {}) {
    const id = this.#nextId++;
    const parent = this.#executing ? currentScope()?.call : undefined;
    const frame = writeFrame({ ...head, id, parent }, encodeArguments(args));
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { ...more, kind: head.t, name: String(args[0]), resolve, reject });
      this.#send(frame);
    });
  }

  // What the engine asks. An answer names `n`, the number of the question.

  callback({ id, n, ctx }) {
    const call = this.#calls.get(id);
    const scope = { ...this.#of, step: `${ctx.step.name}-${ctx.step.count}`, call: n };
    this.#executing++;
    this.#answer(n, scope, () => callUnseen(call.callback, call.callback, [ctx]), call).then(() => this.#executing--);
  }

  delay({ id, n, ctx, error, of }) {
    const delay = this.#calls.get(id)[of];
    this.#answer(n, this.#of, () => callUnseen(delay, undefined, [{ ctx, error: reviveError(error) }]));
  }

  async rollback({ id, n, ctx, error, stepName, stream }, body) {
    const { rollback } = this.#calls.get(id);
    const output = stream === undefined ? (body === undefined ? undefined : decode(body)) : await this.#channel.stream(stream);
    const scope = { ...this.#of, step: stepName, call: n };
    const given = { ctx, error: reviveError(error), output, stepName };
    this.#answer(n, scope, () => callUnseen(rollback, undefined, [given]).then(() => undefined));
  }

  async done({ id, same, stream }, body) {
    const call = this.#settled(id);
    if (stream !== undefined) call.resolve(await (this.#opening = this.#channel.stream(stream)));
    else call.resolve(disposable(decode(same === undefined ? body : call.kept[same])));
  }

  failed({ id, error }) {
    this.#settled(id).reject(reviveError(error));
  }

  // A timer fires after all that promises lead to by themselves.
  async settle() {
    await this.#opening;
    setTimeout(() => this.#send('{"t":"settled"}'), 0);
  }

  async pull({ s }) {
    const stream = this.#streams.get(s);
    if (await stream?.next(this.#send)) this.#streams.delete(s);
  }

  cancel({ s, reason }) {
    this.#streams.get(s)?.cancel(reason);
    this.#streams.delete(s);
  }

  // Handlers of rollbacks may be asked for after their step is done.
  #settled(id) {
    const call = this.#calls.get(id);
    if (call.rollback === undefined) this.#calls.delete(id);
    return call;
  }

  /** Answers question `n` with the outcome of the promise that `ask` gives; nothing may await what this returns. */
  #answer(n, scope, ask, call) {
    return within(scope, this.#env, ask).then(
      (value) => this.#answerValue(n, value, call),
      (error) => this.#send(writeFrame({ t: "threw", n, error: describeError(error) })),
    );
  }

  #answerValue(n, value, call) {
    if (call !== undefined && value instanceof ReadableStream) return this.#answerStream(n, value);
    this.#tell({ t: "value", n }, () => {
      if (call === undefined) return encode(value);
      return (call.kept[n] = encode(value, this.#limits[0]));
    });
  }

  #answerStream(n, value) {
    const s = n;
    this.#streams.set(s, new OutgoingStream(s, openStream(value)));
    this.#send(writeFrame({ t: "stream", n, s }));
  }

  /** Sends `head` with a value, or what was wrong with it. */
  #tell(head, text) {
    let frame;
    try {
      frame = writeFrame(head, text());
    } catch (error) {
      const { n } = head;
      if (error instanceof NotSerialisable) frame = writeFrame({ t: "refused", n, path: error.path, what: error.what });
      else if (error instanceof TooLarge) frame = writeFrame({ t: "oversized", n });
      else frame = writeFrame({ t: n === undefined ? "raised" : "threw", n, error: describeError(error) });
    }
    this.#send(frame);
  }
}

/** Results of RPC can be disposed of (`using result = await step.do(...)`); of these nothing is left to free. */
function disposable(result) {
  if (typeof result !== "object" || result === null || Symbol.dispose === undefined) return result;
  return Object.defineProperty(result, Symbol.dispose, { value() {}, writable: true, configurable: true });
}

const { callback, delay, rollback, done, failed, settle, pull, cancel } = Pass.prototype;
const HANDLERS = { callback, delay, rollback, done, failed, settle, pull, cancel };

function eventOf({ instanceId, workflowName, timestamp, schedule }, body) {
  const event = { payload: decode(body), timestamp: new Date(timestamp), instanceId, workflowName };
  return schedule ? { ...event, schedule } : event;
}
