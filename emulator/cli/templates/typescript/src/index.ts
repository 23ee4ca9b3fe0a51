import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";

interface Env {
  GREETING: Workflow<Params>;
}

interface Params {
  name?: string;
}

export class GreetingWorkflow extends WorkflowEntrypoint<Env, Params> {
  async run(event: WorkflowEvent<Params>, step: WorkflowStep) {
    // What a step returns is stored: it does not run again when the instance goes on after a sleep or a crash.
    const text = await step.do("write", async () => `Hello, $${event.payload.name ?? "world"}!`);

    await step.sleep("wait for the right moment", "10 seconds");

    // A step that throws is tried again: here three times, after 1, 2 and 4 seconds.
    return await step.do(
      "send",
      { retries: { limit: 3, delay: "1 second", backoff: "exponential" } },
      async () => {
        console.log("sending:", text);
        return { sent: text };
      },
    );
  }
}

export default {
  async fetch(request, env): Promise<Response> {
    if (request.method === "POST") {
      const instance = await env.GREETING.create({ params: await request.json<Params>() });
      return Response.json({ id: instance.id });
    }

    const id = new URL(request.url).searchParams.get("id");
    if (id === null) {
      return new Response('POST {"name": "..."} starts a greeting, GET /?id=... shows it.');
    }
    const instance = await env.GREETING.get(id);
    return Response.json(await instance.status());
  },
} satisfies ExportedHandler<Env>;
