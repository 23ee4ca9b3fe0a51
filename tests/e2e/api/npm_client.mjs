// Calls every method of the official client's `workflows` and prints what came back, one JSON object.
// Usage: node npm_client.mjs PATH_OF_THE_PACKAGE BASE_URL
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [, , folder, baseURL] = process.argv;
const { default: Cloudflare } = await import(pathToFileURL(join(folder, "index.mjs")).href);
const client = new Cloudflare({ apiToken: "anything", baseURL, maxRetries: 0, timeout: 20_000 });
const account_id = "0123456789abcdef0123456789abcdef";
const inFlow = { account_id, workflow_name: "flow" };
const { workflows } = client;

// Every method of the resource, and of those below it, until it is called.
const uncalled = new Set();
const names = (made) => (made === Object.prototype ? [] : [...Object.getOwnPropertyNames(made), ...names(Object.getPrototypeOf(made))]);
const watch = (resource, path) => {
  for (const name of names(Object.getPrototypeOf(resource)).filter((one) => one !== "constructor")) {
    const method = resource[name].bind(resource);
    uncalled.add(path + name);
    resource[name] = (...given) => (uncalled.delete(path + name), method(...given));
  }
  for (const [name, below] of Object.entries(resource)) {
    if (name !== "_client" && typeof below === "object") watch(below, `${path}${name}.`);
  }
};
watch(workflows, "");
const { instances, versions } = workflows;

const all = async (pages) => {
  const found = [];
  for await (const one of pages) found.push(one);
  return found;
};
const until = async (id, status) => {
  for (;;) {
    const found = await instances.get(id, inFlow);
    if (found.status === status) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
const refusal = async (call) => {
  try {
    await call;
  } catch (error) {
    return { type: error.constructor.name, status: error.status, errors: error.errors };
  }
};

const result = { methods: [...uncalled] };
result.list = (await all(workflows.list({ account_id }))).map((one) => one.name);
result.get = await workflows.get("flow", { account_id });
result.update = await workflows.update("quick", { account_id, class_name: "Quick", script_name: "worker" });
result.versions = await all(versions.list("flow", { account_id }));
result.version = await versions.get(result.versions[0].id, inFlow);
result.graph = await versions.graph(result.versions[0].id, inFlow);

result.create = await instances.create("flow", { account_id, instance_id: "one", params: '{"wait":"go"}' });
await until("one", "waiting");
result.event = await instances.events.create("go", { ...inFlow, instance_id: "one", body: { by: "me" } });
result.detail = await until("one", "complete");
result.step = await instances.step("one", { ...inFlow, name: "approval-1", type: "waitForEvent" });

result.bulk = await all(
  instances.bulk("flow", { account_id, body: [{ instance_id: "a", params: '{"nap":"1 day"}' }, { instance_id: "b" }] }),
);
result.instances = (await all(instances.list("flow", { account_id, per_page: 2 }))).map((one) => one.id);
await until("a", "waiting");
result.waiting = (await all(instances.list("flow", { account_id, status: "waiting" }))).map((one) => one.id);
const edit = async (body) => (await instances.status.edit("a", { ...inFlow, ...body })).status;
result.edits = [await edit({ status: "pause" }), await edit({ status: "resume" }), await edit({ status: "terminate" })];
await edit({ status: "restart", from: { name: "nap", type: "sleep" } });
result.restarted = (await until("a", "waiting")).step_count;

result.absent = await refusal(instances.get("nope", inFlow));
result.used = await refusal(instances.create("flow", { account_id, instance_id: "one" }));
result.delete = await workflows.delete("flow", { account_id });
result.left = await all(instances.list("flow", { account_id }));
result.uncalled = [...uncalled];
console.log(JSON.stringify(result));
