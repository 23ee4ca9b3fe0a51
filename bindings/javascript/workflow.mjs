// `env.MY_WORKFLOW` and the instances it gives, with Cloudflare's methods; the engine checks every argument.
import { decodeTree, encode, encodeArguments } from "./codec.mjs";
import { NotSerialisable, cloneError } from "./errors.mjs";
import { currentScope } from "./scope.mjs";

const instances = (channel, workflow, ids) => ids.map((id) => new InstanceImpl(channel, workflow, id));

export class WorkflowImpl {
  #channel;
  #name;
  #jsonOptions;

  /** `jsonOptions`: an id that is undefined is none, as when options were sent as JSON. */
  constructor(channel, name, jsonOptions) {
    this.#channel = channel;
    this.#name = name;
    this.#jsonOptions = jsonOptions;
  }

  async create(options) {
    if (options !== undefined) void ("id" in options); // what is no object fails here, in V8's words
    if (typeof options === "function") return this.create({ id: undefined }); // a stub, which has every property
    if (options !== undefined && !this.#jsonOptions) encodeArguments(Object.create(Object.getPrototypeOf(options)));
    const id = await this.#call("create", packOptions(options, "params", !this.#jsonOptions));
    return new InstanceImpl(this.#channel, this.#name, id);
  }

  async createBatch(batch) {
    const packed = Array.isArray(batch) ? batch.map((entry) => packOptions(entry, "params")) : packBatch(batch);
    const answer = await this.#call("createBatch", packed);
    if (Array.isArray(answer)) return instances(this.#channel, this.#name, answer);
    return { ...answer, created: instances(this.#channel, this.#name, answer.created) };
  }

  async deleteBatch(ids) {
    return this.#call("deleteBatch", ids);
  }

  async get(id) {
    return new InstanceImpl(this.#channel, this.#name, await this.#call("get", id));
  }

  #call(method, argument) {
    const scope = currentScope();
    const by = scope && [scope.workflowName, scope.instanceId];
    return this.#channel.call({ workflow: this.#name, method, by }, encodeArguments(argument));
  }
}

/** What a binding gives: `id` is a plain property, everything else asks the engine. */
export class InstanceImpl {
  #channel;
  #workflow;

  constructor(channel, workflow, id) {
    this.#channel = channel;
    this.#workflow = workflow;
    this.id = id;
  }

  async status() {
    const { status, output, error, rollback, stepOutputs } = await this.#call("status");
    return {
      status,
      output: output === undefined ? null : decodeTree(output),
      ...(error && { error }),
      ...(rollback !== undefined && { rollback: decodeTree(rollback) }),
      ...(stepOutputs && { __LOCAL_DEV_STEP_OUTPUTS: stepOutputs.map(decodeTree) }),
    };
  }

  async pause() {
    await this.#call("pause");
  }

  async resume() {
    await this.#call("resume");
  }

  async terminate(options) {
    await this.#call("terminate", options);
  }

  async restart(options) {
    await this.#call("restart", options);
  }

  async delete() {
    await this.#call("delete");
  }

  async sendEvent(event) {
    const { type: _ } = event; // as above
    await this.#call("sendEvent", packOptions(event, "payload"));
  }

  /** Not Cloudflare's: ends a sleep now; of all sleeps without a name. */
  async skipSleep(name) {
    await this.#call("skipSleep", name);
  }

  async subscribe(options) {
    if (options === null) throw new Error("Invalid Workflow subscription options");
    const head = { workflow: this.#workflow, method: "subscribe", id: this.id };
    return new Subscription(this.#channel, await this.#channel.subscribe(head, encodeArguments(options)));
  }

  #call(method, argument) {
    return this.#channel.call({ workflow: this.#workflow, method, id: this.id }, encodeArguments(argument));
  }
}

/** A cursor over an instance's events. */
class Subscription {
  #channel;
  #lines;
  #ended = false;

  constructor(channel, lines) {
    this.#channel = channel;
    this.#lines = lines;
  }

  async next() {
    const line = this.#ended ? null : await this.#lines.next();
    if (line === null) {
      this.#ended = true;
      return { done: true, value: undefined };
    }
    const { event, values, stream } = JSON.parse(line);
    for (const [key, tree] of Object.entries(values)) event[key] = decodeTree(tree);
    if (stream !== undefined) event.output = await this.#channel.stream(stream);
    return { done: false, value: event };
  }

  [Symbol.dispose]() {
    this.#ended = true;
    this.#lines.cancel();
  }
}

/**
 * Options with `key` replaced by its encoded text, since the engine keeps it as it is. A field that is undefined is
 * left out, but for the id where options are values (contract case ids-undefined). What is no object goes as it is: the
 * engine says what is wrong with it.
 */
function packOptions(options, key, keepsId = true) {
  if (typeof options !== "object" || options === null || Array.isArray(options)) return options;
  const packed = Object.fromEntries(Object.entries(options).filter(([k, v]) => v !== undefined || (k === "id" && keepsId)));
  if (key in packed) packed[key] = encodeUserValue(packed[key]);
  return packed;
}

function packBatch(batch) {
  if (typeof batch !== "object" || batch === null) return batch;
  const packed = packOptions(batch, "params");
  if (!Array.isArray(batch.instances)) return packed;
  return { ...packed, instances: batch.instances.map((entry) => packOptions(entry, "params")) };
}

/** Functions and streams cross RPC, but not into a Workflow (contract case params-function). */
function encodeUserValue(value) {
  try {
    return encode(value);
  } catch (error) {
    if (error instanceof NotSerialisable) throw cloneError("RpcStub cannot be serialized in this context.");
    throw error;
  }
}
