// The modules that run in the runtime, as texts: those of the binding, and those in front of the user's main module.
import { readFileSync } from "node:fs";

const read = (name) => readFileSync(new URL(`../${name}.mjs`, import.meta.url), "utf8");
const IMPORT = /(["'])\.\/(\w+)\.mjs\1/g;

// Internal modules cannot import it. Where only the binding is, no pass runs, and nothing of it is needed.
const WORKERS = /import \* as (\w+) from "cloudflare:workers";/;

const ALS = 'export { AsyncLocalStorage } from "node:async_hooks";\n';

/** The module name of the binding. */
export const BINDING = "stepwell:binding";

/** The texts of modules and of all that they import, by name. `replaced` has those that are others here. */
function withImports(names, replaced = {}) {
  const texts = {};
  const add = (name) => {
    if (name in texts) return;
    texts[name] = replaced[name] ?? read(name);
    for (const [, , imported] of texts[name].matchAll(IMPORT)) add(imported);
  };
  names.forEach(add);
  return texts;
}

/** The binding's modules, internal: no import of the project reaches them. */
export function bindingModules() {
  const renamed = (text) => text.replaceAll(IMPORT, '"stepwell:$2"').replace(WORKERS, "const $1 = { env: {} };");
  const shared = Object.entries(withImports(["bridge", "introspection", "run_key"]));
  const binding = { name: BINDING, esModule: read("devserver/binding"), internal: true };
  return [...shared.map(([name, text]) => ({ name: `stepwell:${name}`, esModule: renamed(text), internal: true })), binding];
}

/** A module of the binding, for Node: as it is there, with what it imports. */
export function importInNode(name) {
  const urls = {};
  const urlOf = (each) =>
    (urls[each] ??= `data:text/javascript;base64,${Buffer.from(
      read(each)
        .replace(WORKERS, "const $1 = { env: {} };")
        .replaceAll(IMPORT, (_, quote, imported) => JSON.stringify(urlOf(imported))),
    ).toString("base64")}`);
  return import(urlOf(name));
}

/** The texts of the modules that take the engine's passes, by name. */
export const passModules = () => withImports(["runs", "setup"], { stepwell_als: ALS });

/** The module that becomes the main one: all that the user's has, and one more entrypoint, to which the engine's sockets lead. */
export const entryOf = (runs) => (main) => `import "./setup.mjs";
import * as user from ${JSON.stringify(main)};
import { runsOf } from "./runs.mjs";
export * from ${JSON.stringify(main)};
export default user.default ?? {};
export const ${runs} = runsOf(user);
`;
