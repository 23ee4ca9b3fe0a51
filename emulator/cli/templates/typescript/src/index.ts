import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";

interface Env {
  ORDERS: Workflow<Order>;
}

interface Order {
  id?: string;
  cents: number;
}

export class OrderWorkflow extends WorkflowEntrypoint<Env, Order> {
  async run(event: WorkflowEvent<Order>, step: WorkflowStep) {
    const order = event.payload;

    // The result of a step is stored. The step does not run again after a sleep, a crash or a restart.
    const payment = await step.do(
      "charge",
      { retries: { limit: 3, delay: "1 second", backoff: "exponential" } },
      async () => {
        console.log("charging", order.cents);
        return { paid: order.cents };
      },
    );

    const approval = await step.waitForEvent<{ approved: boolean }>("approval", { type: "approval", timeout: "2 days" });
    if (!approval.payload.approved) {
      return { state: "cancelled" };
    }

    await step.sleep("time to cancel", "1 hour");
    const parcel = await step.do("ship", async () => `parcel-$${event.instanceId}`);
    return { state: "shipped", paid: payment.paid, parcel };
  }
}

export default {
  async fetch(request, env): Promise<Response> {
    const [collection, id, action] = new URL(request.url).pathname.split("/").filter(Boolean);
    if (collection !== "orders") {
      return new Response("Not found", { status: 404 });
    }
    if (request.method === "POST" && id === undefined) {
      const order = await request.json<Order>();
      const instance = await env.ORDERS.create({ id: order.id, params: order });
      return Response.json({ id: instance.id }, { status: 201 });
    }
    if (id === undefined) {
      return new Response("Not found", { status: 404 });
    }
    const instance = await env.ORDERS.get(id);
    if (request.method === "POST" && action === "approval") {
      await instance.sendEvent({ type: "approval", payload: await request.json() });
      return Response.json({ sent: true });
    }
    return Response.json(await instance.status());
  },
} satisfies ExportedHandler<Env>;
