// Run by test_bridge.py: calls to the engine, when its connections end and when there are many at once.
import assert from "node:assert/strict";
import { Channel } from "../../bindings/javascript/bridge.mjs";

const answer = () => new Response('{}\n"ok"');
const call = (fetch) => new Channel({ fetch }, "http://engine", { proof: async () => "proof" }).call({ method: "get" }, "null");

const checks = {
  async "a request that found its connection closed is sent again"() {
    let sent = 0;
    const fetch = async () => {
      if (++sent === 1) throw new Error("Network connection lost.");
      return answer();
    };
    assert.equal(await call(fetch), "ok");
    assert.equal(sent, 2);
  },

  async "an engine that is gone is told after the second time"() {
    let sent = 0;
    const fetch = async () => {
      sent++;
      throw new Error("Network connection lost.");
    };
    await assert.rejects(call(fetch), { message: "Network connection lost." });
    assert.equal(sent, 2);
  },

  async "many calls at once take turns"() {
    let [open, most] = [0, 0];
    const order = [];
    const fetch = async (_, { body }) => {
      most = Math.max(most, ++open);
      order.push(JSON.parse(body.split("\n")[0]).id);
      await new Promise((resolve) => setTimeout(resolve, 1));
      open--;
      return answer();
    };
    const channel = new Channel({ fetch }, "http://engine", { proof: async () => "proof" });
    const ids = Array.from({ length: 500 }, (_, id) => id);
    await Promise.all(ids.map((id) => channel.call({ method: "get", id }, "null")));
    assert.equal(most, 64);
    assert.deepEqual(order.toSorted((a, b) => a - b), ids);
  },
};

for (const [name, check] of Object.entries(checks)) {
  if (name === process.argv[2]) {
    await check();
    console.log("ok");
  }
}
