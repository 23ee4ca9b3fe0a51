// The same for JavaScript, with what Python cannot say or make.
import { WorkflowEntrypoint } from "cloudflare:workers";
import { NonRetryableError } from "cloudflare:workflows";

/** A value that only a first run may make: in the copies AGAIN is set. */
class Once extends WorkflowEntrypoint {
  once(value) {
    if (this.env.AGAIN) throw new Error("the step was to be mocked");
    return value;
  }

  make(step, name, value, config = {}) {
    return step.do(name, config, async () => {
      if (value instanceof Error) throw this.once(value);
      return this.once(value);
    });
  }
}

const loop = { name: "loop" };
loop.self = loop;

export class Kinds extends Once {
  async run(event, step) {
    const found = await this.make(step, "kinds", {
      none: undefined,
      list: [undefined, null, -0, NaN, 12n, 2n ** 70n],
      map: new Map([[{ a: 1 }, new Set([1, "b"])]]),
      bytes: [new Uint8Array([0, 255]), new Uint8Array([1]).buffer, new Float64Array([1.5])],
      dates: [new Date(5), new Date(NaN)],
      pattern: /a\/b/gi,
      error: new RangeError("too far", { cause: new Error("why") }),
      loop,
      text: "🎉 \u2028 \ud83c",
    });
    return { found, undefined: await this.make(step, "undefined", undefined) === undefined, big: found.list[4] + 1n };
  }
}

// Streams, waits, and errors that are caught.
export class Mixed extends Once {
  async run(event, step) {
    const stream = await step.do("stream", async () => new Response("pieces of text").body);
    const read = await step.do("read", async () => (await new Response(stream).text()).length);
    const config = { retries: { limit: 1, delay: "1 hour" } };
    const caught = await this.make(step, "caught", new TypeError("no 'way' \\"), config).catch(String);
    await step.sleep("nap", "1 day");
    const answer = await step.waitForEvent("answer", { type: "go", timeout: "2 days" });
    return { ...answer, given: event.payload, at: event.timestamp, read, caught };
  }
}

export class Fails extends Once {
  async run(event, step) {
    await this.make(step, "far", new Date(8.64e15));
    await this.make(step, "fails", new NonRetryableError("never"), { retries: { limit: 1, delay: "1 hour" } });
  }
}

export default { fetch: () => new Response("ok") };
