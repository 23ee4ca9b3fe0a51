// Which pass and which step the code that runs now belongs to, carried through promises and timers by Node's
// AsyncLocalStorage. Where that cannot be had, `withEnv` does it: it carries an environment, and ours has one more property
// that nothing enumerates. That takes a fifth of the time of a step.
import * as workers from "cloudflare:workers";
import { AsyncLocalStorage } from "./stepwell_als.mjs";
import { replaceMethod } from "./unseen.mjs";

const SCOPE = Symbol("stepwell.scope");
const storage = AsyncLocalStorage && new AsyncLocalStorage();

/** The scope around: `{workflowName, instanceId, watch?, step?, call?}`, or undefined outside of passes. */
export const currentScope = storage ? () => storage.getStore() : () => workers.env[SCOPE];

/**
 * Calls `fn` with `scope` around it and around everything it starts. `env` is the object that entrypoints are given:
 * what modules import is a proxy for it, and copying that takes even longer.
 */
export function within(scope, env, fn) {
  if (storage) return storage.run(scope, fn);
  if (!workers.withEnv) return fn();
  return workers.withEnv(Object.defineProperty({ ...env }, SCOPE, { value: scope }), fn);
}

/**
 * Puts `[instance step] ` before the lines that passes and steps log; the engine's side takes it off again and shows
 * both. Strings keep their place, since the first one may be a format.
 */
export function tagConsole() {
  for (const level of ["debug", "error", "info", "log", "trace", "warn"]) {
    replaceMethod(console, level, (original, self, args) => {
      const scope = currentScope();
      return original.apply(console, scope === undefined ? args : tagged(scope, args));
    });
  }
}

function tagged({ instanceId, step }, args) {
  const tag = `[${instanceId}${step ? ` ${step}` : ""}]`;
  return typeof args[0] === "string" ? [`${tag} ${args[0]}`, ...args.slice(1)] : [tag, ...args];
}
