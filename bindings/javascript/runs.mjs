// The path by which the engine comes in: an entrypoint that nothing but the engine reaches. Its socket carries passes
// of run(), one after another, or is the one over which the engine looks after the runtime.
import { WorkerEntrypoint, WorkflowEntrypoint } from "cloudflare:workers";
import { describeError } from "./errors.mjs";
import { applyMigrations } from "./migrations.mjs";
import * as setup from "./setup.mjs";
import { Pass } from "./steps.mjs";
import { hideEntrypoints } from "./unseen.mjs";
import { readFrame, writeFrame } from "./wire.mjs";

/** The entrypoint class for a user's module. */
export function runsOf(user) {
  user.__stepwellSetup?.(setup);
  return class extends WorkerEntrypoint {
    fetch(request) {
      return accept(request, user, this.ctx, this.env);
    }
  };
}

async function accept(request, user, ctx, env) {
  const [scheme, proof] = (request.headers.get("authorization") ?? "").split(" ");
  if (scheme !== "Stepwell" || !(await setup.runKey.accepts("runs", proof))) return new Response(null, { status: 404 });
  hideEntrypoints(ctx);
  const { 0: theirs, 1: ours } = new WebSocketPair();
  ours.accept();
  const send = (frame) => ours.send(frame);
  const handlers = { run: runPasses(send, user, ctx, env), ...caretaking(send, user, ctx, env), ...user.__stepwell?.(send, env) };
  let pass;
  ours.addEventListener("message", ({ data }) => {
    const [head, body] = readFrame(data);
    if (head.t === "run") pass = handlers.run(head, body);
    else if (head.t in handlers) handlers[head.t](head, body);
    else pass.receive(head, body);
  });
  ours.addEventListener("close", () => ours.close());
  return new Response(null, { status: 101, webSocket: theirs });
}

function runPasses(send, user, ctx, env) {
  return (head, body) => {
    const pass = new Pass(send, setup.channel, env);
    pass.run(head, body, user[head.class], ctx);
    return pass;
  };
}

/** What the engine asks of the runtime as a whole. */
function caretaking(send, user, ctx, env) {
  return {
    ping: () => send(writeFrame({ t: "pong" })),
    classes: () => send(writeFrame({ t: "classes", classes: classesOf(user) })),
    migrate: async ({ binding, table, files }) =>
      send(writeFrame({ t: "migrated", ...(await applyMigrations(env[binding], table, files)) })),
    scheduled: async (head) => {
      try {
        await callScheduled(user.default, head, ctx, env);
        send(writeFrame({ t: "scheduled" }));
      } catch (error) {
        send(writeFrame({ t: "scheduled", error: describeError(error) }));
      }
    },
  };
}

/** The exported classes by name: whether each can be a Workflow's. */
function classesOf(user) {
  const classes = Object.entries(user).filter(([, value]) => typeof value === "function");
  return Object.fromEntries(classes.map(([name, value]) => [name, isWorkflow(value.prototype)]));
}

// A WorkerEntrypoint with a run() works on Cloudflare as well, and there are projects that rely on it.
function isWorkflow(prototype) {
  if (prototype instanceof WorkflowEntrypoint) return true;
  return prototype instanceof WorkerEntrypoint && typeof prototype.run === "function";
}

async function callScheduled(handler, { cron, scheduledTime }, ctx, env) {
  const controller = { cron, scheduledTime, type: "scheduled", noRetry() {} };
  const target = typeof handler === "function" ? new handler(ctx, env) : handler;
  if (typeof target?.scheduled !== "function") throw new TypeError("Handler does not export a scheduled() function");
  await target.scheduled(controller, env, ctx);
}
