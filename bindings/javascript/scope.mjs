// Which pass and which step the code that runs now belongs to. `withEnv` carries an environment through promises and
// timers; ours has one more property that nothing enumerates. (Node's AsyncLocalStorage would need a compatibility flag
// that the project may not have.)
import * as workers from "cloudflare:workers";

const SCOPE = Symbol("stepwell.scope");

/** The scope around: `{instanceId, step?, parent?}`, or undefined outside of passes. */
export const currentScope = () => workers.env[SCOPE];

/** Calls `fn` with `scope` around it and around everything it starts. */
export function within(scope, fn) {
  if (!workers.withEnv) return fn();
  const env = { ...workers.env };
  Object.defineProperty(env, SCOPE, { value: scope });
  return workers.withEnv(env, fn);
}

/**
 * Puts `[instance step] ` before the lines that passes and steps log; the engine's side takes it off again and shows
 * both. Strings keep their place, since the first one may be a format.
 */
export function tagConsole() {
  for (const level of ["debug", "error", "info", "log", "trace", "warn"]) {
    const original = console[level];
    console[level] = (...args) => {
      const scope = currentScope();
      if (scope === undefined) return original.apply(console, args);
      const tag = `[${scope.instanceId}${scope.step ? ` ${scope.step}` : ""}]`;
      if (typeof args[0] === "string") args[0] = `${tag} ${args[0]}`;
      else args.unshift(tag);
      return original.apply(console, args);
    };
  }
}
