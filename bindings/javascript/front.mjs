// The entrypoint behind the address of a Worker. What fetch throws is logged and told with its stack, of which the
// engine's side makes the answer (emulator/worker/workerd/error_answers.py): workerd by itself answers with two words. Calls of
// other Workers do not come this way: they get the error itself.
import { WorkerEntrypoint } from "cloudflare:workers";
import { describeError } from "./errors.mjs";
import { runKey } from "./setup.mjs";
import { callUnseen, constructUnseen, replaceMethod } from "./unseen.mjs";

export const ERROR_HEADER = "Stepwell-Error";
const NO_RESPONSE = "Incorrect type for Promise: the Promise did not resolve to 'Response'."; // workerd's words

/** The entrypoint class for a user's module. */
export function frontOf({ default: handler = {} }) {
  return class extends WorkerEntrypoint {
    fetch(request) {
      tellRejections(this.ctx);
      return answer(handler, request, this.env, this.ctx).then(checked).catch(errorAnswer);
    }
  };
}

function answer(handler, request, env, ctx) {
  const target = typeof handler === "function" ? constructUnseen(handler, [ctx, env]) : Promise.resolve(handler);
  return target.then((object) => {
    if (typeof object.fetch !== "function") throw new TypeError("Handler does not export a fetch() function.");
    return callUnseen(object.fetch, object, [request, env, ctx]);
  });
}

function checked(response) {
  if (!(response instanceof Response)) throw new TypeError(NO_RESPONSE);
  return response;
}

async function errorAnswer(error) {
  console.error(error?.stack ?? error);
  const headers = { [ERROR_HEADER]: await runKey.proof("error") };
  return Response.json(describeError(error), { status: 500, headers });
}

const watched = new WeakSet();

/** From now on logs what becomes of promises that `ctx.waitUntil` is given: workerd drops their errors. */
function tellRejections(ctx) {
  const prototype = Object.getPrototypeOf(ctx);
  if (watched.has(prototype)) return;
  watched.add(prototype);
  replaceMethod(prototype, "waitUntil", (original, self, [promise]) => {
    Promise.resolve(promise).catch((error) => console.error(`Uncaught (in waitUntil) ${error?.stack ?? error}`));
    return original.call(self, promise);
  });
}
