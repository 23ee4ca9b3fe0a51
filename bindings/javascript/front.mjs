// The entrypoint behind the address of a Worker. What fetch throws is logged and told with its stack, of which the
// engine's side makes the answer (emulator/worker/error_answers.py): workerd by itself answers with two words. Calls of
// other Workers do not come this way: they get the error itself.
import { WorkerEntrypoint } from "cloudflare:workers";
import { describeError } from "./errors.mjs";
import { settings } from "./setup.mjs";

export const ERROR_HEADER = "Stepwell-Error";

/** The entrypoint class for a user's module. */
export function frontOf({ default: handler = {} }) {
  return class extends WorkerEntrypoint {
    async fetch(request) {
      try {
        return await answer(handler, request, this.env, this.ctx);
      } catch (error) {
        console.error(error?.stack ?? error);
        return Response.json(describeError(error), { status: 500, headers: { [ERROR_HEADER]: settings.token } });
      }
    }
  };
}

function answer(handler, request, env, ctx) {
  const target = typeof handler === "function" ? new handler(ctx, env) : handler;
  if (typeof target.fetch !== "function") throw new TypeError("Handler does not export a fetch() function.");
  return target.fetch(request, env, ctx);
}
