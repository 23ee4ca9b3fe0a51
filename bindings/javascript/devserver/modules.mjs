// The modules that run in the runtime, as texts: those of the binding, and those in front of the user's main module.
import { readFileSync } from "node:fs";

const read = (name) => readFileSync(new URL(`../${name}.mjs`, import.meta.url), "utf8");

const SHARED = ["bridge", "codec", "errors", "run_key", "workflow"];
const PASSES = [...SHARED, "migrations", "pipelined", "runs", "scope", "setup", "site", "step", "steps", "streams", "wire"];
const ALS = 'export { AsyncLocalStorage } from "node:async_hooks";\n';

/** The module name of the binding. */
export const BINDING = "stepwell:binding";

/** The binding's modules, internal: no import of the project reaches them. */
export function bindingModules() {
  const renamed = (text) => text.replaceAll(/"\.\/(\w+)\.mjs"/g, '"stepwell:$1"');
  const shared = SHARED.map((name) => ({ name: `stepwell:${name}`, esModule: renamed(read(name)), internal: true }));
  const binding = { name: BINDING, esModule: read("devserver/binding"), internal: true };
  return [...shared, binding];
}

/** The texts of the modules that take the engine's passes, by name. */
export function passModules() {
  const texts = Object.fromEntries(PASSES.map((name) => [name, read(name)]));
  return { ...texts, stepwell_als: ALS };
}

/** The module that becomes the main one: all that the user's has, and one more entrypoint, to which the engine's sockets lead. */
export const entryOf = (runs) => (main) => `import "./setup.mjs";
import * as user from ${JSON.stringify(main)};
import { runsOf } from "./runs.mjs";
export * from ${JSON.stringify(main)};
export default user.default ?? {};
export const ${runs} = runsOf(user);
`;
