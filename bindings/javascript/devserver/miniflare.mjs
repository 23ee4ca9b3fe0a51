// Stepwell in the place of miniflare's Workflows engine: a subclass of `Miniflare` that puts our entry in front of the Workers
// which hold Workflow classes, and tells the engine where; and the plugin for Workflows, which gives our binding.
import { createHash, randomUUID } from "node:crypto";
import { BINDING, bindingModules, entryOf, importInNode, passModules } from "./modules.mjs";
import { Registration, readSession, say } from "./session.mjs";
import { RUNS, UnknownShape, importsLater, shapeOf } from "./shapes.mjs";

// Since when options of a Workflow binding cross by RPC; before, they were JSON.
const OPTIONS_ARE_VALUES_FROM = "2026-06-16";
const ROUTE = "MF-Route-Override"; // the header by which a tool chooses the Worker
const ENGINE = "stepwell:engine";

let session = readSession();
let usesOwnEngine = false; // after options of an unknown shape
const exportsOf = new Map(); // class to Workflow name, of what a Worker only exports, by Worker
const hosting = new Set(); // Workers that have our entry
const dates = new Map(); // compatibility dates by Worker and Workflow: 4.x does not tell its plugins

const workersOf = (options) => options.workers ?? [options];

/** Takes the exports of the package and gives those that the tools are to have. */
export function extendMiniflare(exports) {
  const plugin = exports.WORKFLOWS_PLUGIN ?? exports.PLUGINS?.workflows;
  if (!exports.Miniflare || !plugin) return exports;
  extendPlugin(plugin);
  const Miniflare = extendClass(exports.Miniflare);
  return new Proxy(exports, { get: (target, key) => (key === "Miniflare" ? Miniflare : Reflect.get(target, key)) });
}

// -- options

/** A copy with our parts: the tools keep their own and compare them. `hosts` are the Workers that have Workflows. */
function rewritten(given) {
  const copy = (worker) => shapeOf(worker).copy(worker);
  const options = given.workers ? { ...given, workers: given.workers.map(copy) } : copy(given);
  const hosts = workersOf(options).map(prepare).filter(Boolean);
  return { options, hosts };
}

function prepare(worker) {
  const shape = shapeOf(worker);
  const name = shape.name(worker);
  const bindings = shape.workflows(worker);
  const exported = shape.takeExports(worker);
  const bound = bindings.filter(({ script }) => script === undefined || script === name);
  const own = [
    ...bound.map(({ binding, name, className }) => ({ binding, name, className })),
    ...Object.entries(exported).map(([className, name]) => ({ name, className })),
  ];
  const run = session.workers?.[name]; // `stepwell dev` has started this tool to run the Worker, with Workflows or without
  if (!own.length && !bindings.length && !run) return undefined;
  for (const { name: workflow, script } of bindings) dates.set(`${script ?? name}/${workflow}`, shape.date(worker));
  const digest = createHash("sha256");
  for (const text of shape.code(worker)) digest.update(text);
  const facts = { date: shape.date(worker), flags: shape.flags(worker), importsLater: importsLater(worker) };
  if (own.length || run) {
    exportsOf.set(name, exported);
    if (run) shape.run(worker, run.variables);
    shape.host(worker, entryOf(RUNS), passModules());
    hosting.add(name);
  }
  const others = bindings.filter((each) => !bound.includes(each));
  return { name, own, others, ...facts, code: digest.digest("hex").slice(0, 32), run: run !== undefined };
}

/** The options for miniflare and what to tell the engine; the options as they came where they are not understood. */
function understood(given) {
  try {
    return rewritten(given);
  } catch (error) {
    if (!(error instanceof UnknownShape)) throw error;
    usesOwnEngine = true;
    say(`This version of miniflare is unknown to Stepwell (${error.message}); its own engine runs the Workflows. Update Stepwell or pin wrangler.`);
    return { options: given, hosts: [] };
  }
}

// -- the plugin

const engineService = () => ({ name: ENGINE, external: { address: session.engine, http: {} } });
const engineBinding = (name) => ({ name, service: { name: ENGINE } });
const json = (name, value) => ({ name, json: JSON.stringify(value) });

/** Changes the object that all of miniflare shares: the binding stays a wrapped one, but is ours. */
function extendPlugin(plugin) {
  const replace = (method, ours) => {
    const theirs = plugin[method];
    plugin[method] = (...args) => (usesOwnEngine ? theirs?.apply(plugin, args) : ours(...args));
  };
  replace("getBindings", (options) => [...shapeOf(options).workflows(options).map((workflow) => bindingOf(options, workflow)), ...hostBindings(options)]);
  replace("getNodeBindings", () => ({}));
  replace("getExtensions", () => [{ modules: bindingModules() }]);
  replace("getServices", async ({ options }) => (needsEngine(options) ? [engineService()] : []));
}

const exportedBy = (options) => exportsOf.get(shapeOf(options).name(options)) ?? {};
const needsEngine = (options) => hosting.has(shapeOf(options).name(options)) || shapeOf(options).workflows(options).length > 0;

/** Whether options of a binding cross as JSON. */
function jsonOptions(options, { name, script }) {
  const date = shapeOf(options).date(options) ?? dates.get(`${script}/${name}`);
  return date !== undefined && date < OPTIONS_ARE_VALUES_FROM;
}

function bindingOf(options, workflow) {
  const { binding, name } = workflow;
  const settings = { token: session.token, workflow: name, jsonOptions: jsonOptions(options, workflow) };
  return { name: binding, wrapped: { moduleName: BINDING, innerBindings: [engineBinding("engine"), json("settings", settings)] } };
}

/** What our entry finds in `env`, and takes out. */
function hostBindings(options) {
  const shape = shapeOf(options);
  const name = shape.name(options);
  if (!hosting.has(name)) return [];
  const workflows = shape.workflows(options);
  const settings = {
    token: session.token,
    worker: name,
    workflows: Object.fromEntries(workflows.map(({ binding, name }) => [binding, name])), // in this isolate they know their pass
    exports: exportedBy(options),
    jsonOptions: workflows.some((workflow) => jsonOptions(options, workflow)),
    console: session.console ?? "unchanged",
    introspects: session.introspects ?? true,
  };
  return [engineBinding("__STEPWELL_ENGINE"), json("__STEPWELL", settings)];
}

/** A binding in Node itself. */
async function nodeBinding(workflow) {
  const [{ Channel }, { RunKey }, { WorkflowImpl }] = await Promise.all(["bridge", "run_key", "workflow"].map(importInNode));
  return new WorkflowImpl(new Channel({ fetch: globalThis.fetch }, `http://${session.engine}`, new RunKey(session.token)), workflow);
}

// -- the class

function extendClass(Base) {
  return class Miniflare extends Base {
    #id = randomUUID();
    #given;
    #hosts;
    #first; // the name of the first Worker
    #registration;
    #told;
    #imports = new Set(); // Workers that import their code by themselves, and whose tool has given them the means

    constructor(given) {
      const { options, hosts } = understood(given);
      super(options);
      this.#given = given;
      this.#hosts = hosts;
      const [first] = workersOf(given);
      this.#first = first && shapeOf(first).name(first);
      const { dispatchFetch } = this; // a property of each object, in all versions
      this.dispatchFetch = async (input, init) => {
        const response = await dispatchFetch(input, init);
        if (response.webSocket) await this.#socketOpened(new Headers(init?.headers).get(ROUTE));
        return response;
      };
      if (hosts.length) this.#told = super.ready.then(() => this.#tell()).catch(() => {}); // their own error is thrown to who awaits it
    }

    /** As theirs, and the engine knows the Workflows. */
    get ready() {
      if (!(#told in this) || this.#told === undefined) return super.ready;
      return super.ready.then(async (url) => {
        await this.#told;
        return url;
      });
    }

    async setOptions(given) {
      if (session.keepsCode && this.#hosts.length) return; // `stepwell dev` starts another process for new code
      const { options, hosts } = understood(given);
      this.#given = given;
      this.#imports.clear();
      await super.setOptions(options);
      this.#hosts = hosts;
      if (hosts.length || this.#registration) await this.#tell();
    }

    /** A tool whose Worker imports its code by itself has opened a socket to that Worker first. */
    async #socketOpened(route) {
      const before = this.#imports.size;
      for (const { name } of this.#hosts) if (route === null || route === name) this.#imports.add(name);
      if (this.#imports.size > before) await this.#tell();
    }

    /**
     * As theirs. wrangler's getPlatformProxy() takes the Workflows of the project itself out of the options, with a warning:
     * Stepwell has read the same configuration and names them.
     */
    async getBindings(worker) {
      const bindings = await super.getBindings(worker);
      const byWorker = session.bindings ?? {};
      const [only, ...others] = Object.values(byWorker);
      const missing = byWorker[worker ?? this.#first] ?? (others.length ? {} : only) ?? {};
      for (const [binding, workflow] of Object.entries(missing)) bindings[binding] ??= await nodeBinding(workflow);
      return bindings;
    }

    async dispose() {
      this.#registration?.close();
      await super.dispose();
    }

    async #tell() {
      const { port } = await super.ready;
      const hosts = this.#hosts.filter(({ name, importsLater }) => !importsLater || this.#imports.has(name));
      const workers = await Promise.all(hosts.map((host) => this.#described(host)));
      if (!workers.length && !this.#registration) return;
      this.#registration ??= new Registration(session, (other) => this.#moveTo(other));
      const { launch } = session;
      await this.#registration.tell({ id: this.#id, launch, pid: process.pid, folder: process.cwd(), http: Number(port), workers });
    }

    async #described({ run, ...host }) {
      const port = async (entrypoint) => Number((await this.unsafeGetDirectURL(host.name, entrypoint)).port);
      const runs = host.own.length || run ? await port(RUNS) : null;
      return { ...host, runs, ...(run && { http: await port() }) };
    }

    /** Another `stepwell dev` has taken over: the bindings must name it. */
    #moveTo(other) {
      session = other;
      this.setOptions(this.#given).catch((error) => say(`The dev server cannot be connected to the new engine: ${error.message}`));
    }
  };
}
