// The entrypoint behind the address of a Worker. What fetch throws is logged and told with its stack, of which the
// engine's side makes the answer (emulator/worker/workerd/error_answers.py): workerd by itself answers with two words. Calls of
// other Workers do not come this way: they get the error itself.
import { WorkerEntrypoint } from "cloudflare:workers";
import { describeError } from "./errors.mjs";
import { runKey } from "./setup.mjs";

export const ERROR_HEADER = "Stepwell-Error";
const NO_RESPONSE = "Incorrect type for Promise: the Promise did not resolve to 'Response'."; // workerd's words

/** The entrypoint class for a user's module. */
export function frontOf({ default: handler = {} }) {
  return class extends WorkerEntrypoint {
    async fetch(request) {
      try {
        tellRejections(this.ctx);
        const response = await answer(handler, request, this.env, this.ctx);
        if (!(response instanceof Response)) throw new TypeError(NO_RESPONSE);
        return response;
      } catch (error) {
        console.error(error?.stack ?? error);
        const headers = { [ERROR_HEADER]: await runKey.proof("error") };
        return Response.json(describeError(error), { status: 500, headers });
      }
    }
  };
}

function answer(handler, request, env, ctx) {
  const target = typeof handler === "function" ? new handler(ctx, env) : handler;
  if (typeof target.fetch !== "function") throw new TypeError("Handler does not export a fetch() function.");
  return target.fetch(request, env, ctx);
}

/** Logs what becomes of promises that `ctx.waitUntil` is given: workerd drops their errors. */
function tellRejections(ctx) {
  const waitUntil = ctx.waitUntil.bind(ctx);
  const told = (promise) => {
    Promise.resolve(promise).catch((error) => console.error(`Uncaught (in waitUntil) ${error?.stack ?? error}`));
    waitUntil(promise);
  };
  Object.defineProperty(ctx, "waitUntil", { value: told, configurable: true, writable: true });
}
