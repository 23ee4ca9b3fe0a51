// The first module that is evaluated: takes our hidden bindings out of `env` and puts the Workflows in, so that user
// code sees them wherever it looks: handlers, `this.env`, and `import { env } from "cloudflare:workers"`, also at the
// top level of a module. That works because all of these are one object.
import * as workers from "cloudflare:workers";
import { Channel } from "./bridge.mjs";
import { RunKey } from "./run_key.mjs";
import { tagConsole } from "./scope.mjs";
import { IntrospectableWorkflow } from "./introspection.mjs";
import { WorkflowImpl } from "./workflow.mjs";

const { env, exports } = workers; // older versions of workerd have neither
if (env === undefined) {
  throw new Error("This workerd is too old for Stepwell: it lacks `env` of \"cloudflare:workers\". npm install --save-dev wrangler@latest");
}

/**
 * `{token, worker, workflows: {BINDING: name}, exports: {Class: name}, jsonOptions, console?, introspects?}`;
 * `console: "unchanged"` leaves the user's lines as they are.
 */
const settings = env.__STEPWELL;
export const runKey = new RunKey(settings.token);

const engine = env.__STEPWELL_ENGINE;
/** The Worker that this is. */
export const { worker } = settings;
/** What reaches a Python Worker: connections of its own, which are not kept. */
export const forwarder = env.__STEPWELL_FORWARD ?? engine;
export const channel = new Channel(engine, "http://engine", runKey);

delete env.__STEPWELL;
delete env.__STEPWELL_ENGINE;
delete env.__STEPWELL_FORWARD;
const variables = globalThis.process?.env; // with nodejs_compat it has what `env` has
if (variables) delete variables.__STEPWELL;
const Binding = settings.introspects ? IntrospectableWorkflow : WorkflowImpl;
const binding = (workflow) => new Binding(channel, workflow, settings.jsonOptions);
for (const [name, workflow] of Object.entries(settings.workflows)) env[name] = binding(workflow);
for (const [name, workflow] of exports ? Object.entries(settings.exports) : [])
  Object.defineProperty(exports, name, { value: binding(workflow), enumerable: true, configurable: true });
if (settings.console !== "unchanged") tagConsole();
