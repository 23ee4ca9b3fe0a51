// What the options of Miniflare look like: one adapter for 4.x, whose Workers are flat, and one for 5.x, whose Workers hold the
// configuration as Cloudflare's API has it. Chosen by shape: a tool may bring any version.
import { posix } from "node:path";

/** Options that declare Workflows in a way that neither adapter knows. */
export class UnknownShape extends Error {}

const RUNS = "__StepwellRuns";
const SELF = "__STEPWELL_SELF";
const LOCAL = { host: "127.0.0.1", port: 0 };
const ALS_FLAG = /^nodejs_als$|^nodejs_compat/;

/** The adapter for a Worker's options. */
export const shapeOf = (worker) => (typeof worker.config === "object" && worker.config !== null ? five : four);

/** The flags of a Worker, with AsyncLocalStorage: by it console lines and nested steps find their step. */
function withAls(flags = []) {
  return flags.some((flag) => ALS_FLAG.test(flag)) ? flags : [...flags, "nodejs_als"];
}

function named({ name, className }, text) {
  if (typeof name === "string" && typeof className === "string") return;
  throw new UnknownShape(`a Workflow without a name and a class: ${text}`);
}

/** Pairs of path and text: modules by name, placed in the folder `stepwell/`. */
const placed = (texts) => Object.entries(texts).map(([name, text]) => [`stepwell/${name}.mjs`, text]);

const four = {
  // A plugin gets its own part of the options, without the name: there it is in an entry that `host` has added.
  name: (worker) => worker.name ?? worker.workflows?.[SELF]?.scriptName ?? "",

  copy: (worker) => ({ ...worker }),

  /** `{binding, name, className, script}` of each Workflow binding; `script` is undefined for the Worker's own. */
  workflows: (worker) =>
    Object.entries(worker.workflows ?? {})
      .filter(([binding]) => binding !== SELF)
      .map(([binding, workflow]) => {
        named(workflow, JSON.stringify(workflow));
        return { binding, name: workflow.name, className: workflow.className, script: workflow.scriptName };
      }),

  /** Workflows that the Worker only exports: takes them out of the options, and gives class to name. */
  takeExports: () => ({}),

  date: (worker) => worker.compatibilityDate,
  flags: (worker) => worker.compatibilityFlags ?? [],

  /** Puts `entryOf(main)` and `texts` in front of the main module, and a socket that leads to them. */
  host(worker, entryOf, texts) {
    const [main] = Array.isArray(worker.modules) ? worker.modules : [];
    if (main?.type !== "ESModule" || typeof main.path !== "string") throw new UnknownShape("a Worker whose first module is not an ES module with a path");
    const root = worker.modulesRoot ?? ".";
    const entry = entryOf(posix.join("..", posix.relative(root, main.path)));
    const ours = placed({ entry, ...texts }).map(([path, contents]) => ({ type: "ESModule", path: posix.join(root, path), contents }));
    worker.modules = [...ours, ...worker.modules];
    worker.compatibilityFlags = withAls(worker.compatibilityFlags);
    worker.unsafeDirectSockets = [...(worker.unsafeDirectSockets ?? []), { ...LOCAL, entrypoint: RUNS }];
    worker.workflows = { ...worker.workflows, [SELF]: { name: SELF, className: RUNS, scriptName: worker.name } };
  },

  /** Gives the Worker its variables, and a socket for its requests. */
  run(worker, variables) {
    worker.bindings = { ...worker.bindings, ...variables };
    worker.unsafeDirectSockets = [...(worker.unsafeDirectSockets ?? []), LOCAL];
  },

  /** What the Worker's code is made of, for a digest. */
  code: (worker) => (Array.isArray(worker.modules) ? worker.modules : []).map(({ contents, path }) => contents ?? path),
};

/** Whether the Worker imports its code by itself when it needs it, as Vite's and vitest's module runners do. */
export const importsLater = (worker) => Boolean(worker.unsafeEvalBinding ?? worker.dev?.unsafeEvalBinding);

const isWorkflow = (entry) => entry?.type === "workflow";

const five = {
  name: ({ config }) => config.name ?? "",

  copy: (worker) => ({ ...worker, config: { ...worker.config, exports: { ...worker.config.exports } } }),

  // The first alphas said `workerName`.
  workflows: ({ config }) =>
    Object.entries(config.env ?? {})
      .filter(([, entry]) => isWorkflow(entry))
      .map(([binding, { name, exportName, worker, workerName }]) => {
        named({ name, className: exportName }, binding);
        return { binding, name, className: exportName, script: worker ?? workerName };
      }),

  takeExports({ config }) {
    const declared = Object.entries(config.exports).filter(([, entry]) => isWorkflow(entry));
    for (const [className] of declared) delete config.exports[className];
    return Object.fromEntries(declared.map(([className, { name }]) => [className, name]));
  },

  date: ({ config }) => config.compatibilityDate,
  flags: ({ config }) => config.compatibilityFlags ?? [],

  host(worker, entryOf, texts) {
    const { config, dev } = worker;
    const { manifest } = config;
    if (typeof manifest?.mainModule !== "string" || typeof manifest.modules !== "object") throw new UnknownShape("a Worker without a manifest");
    const entry = entryOf(posix.join("..", manifest.mainModule));
    const ours = placed({ entry, ...texts }).map(([name, contents]) => [name, { type: "esm", contents }]);
    config.manifest = { ...manifest, mainModule: "stepwell/entry.mjs", modules: { ...manifest.modules, ...Object.fromEntries(ours) } };
    config.compatibilityFlags = withAls(config.compatibilityFlags);
    worker.dev = { ...dev, unsafeDirectSockets: [...(dev?.unsafeDirectSockets ?? []), { ...LOCAL, entrypoint: RUNS }] };
  },

  run(worker, variables) {
    const { config, dev } = worker;
    const values = Object.entries(variables).map(([name, value]) => [name, typeof value === "string" ? { type: "text", value } : { type: "json", value }]);
    config.env = { ...config.env, ...Object.fromEntries(values) };
    worker.dev = { ...dev, unsafeDirectSockets: [...(dev?.unsafeDirectSockets ?? []), LOCAL] };
  },

  code: ({ config }) => Object.values(config.manifest?.modules ?? {}).map(({ contents }) => contents ?? ""),
};

export { RUNS };
