// Cloudflare's introspection API of Workflows, as its test helpers call it: on the binding itself.
import { encode } from "./codec.mjs";
import { WorkflowImpl } from "./workflow.mjs";

export class IntrospectableWorkflow extends WorkflowImpl {
  #ask;

  constructor(channel, name, jsonOptions) {
    super(channel, name, jsonOptions);
    this.#ask = (method, ...args) => channel.call({ workflow: name, method: "introspect" }, encode([method, ...args]));
  }

  unsafeStartIntrospection() {
    return this.#ask("start");
  }

  unsafeStopIntrospection(session) {
    return this.#ask("stop", session);
  }

  /** `operations`: all of the session's. */
  unsafeSetIntrospectionOperations(session, operations) {
    return this.#ask("operations", session, operations);
  }

  unsafeGetIntrospectionInstances(session) {
    return this.#ask("instances", session);
  }

  async unsafeGetInstanceModifier(id) {
    const apply = (operation) => this.#ask("modify", id, operation);
    return {
      disableSleeps: (steps) => apply({ type: "disableSleeps", steps }),
      disableRetryDelays: (steps) => apply({ type: "disableRetryDelays", steps }),
      mockStepResult: (step, stepResult) => apply({ type: "mockStepResult", step, stepResult }),
      mockStepError: (step, { name, message }, times) => apply({ type: "mockStepError", step, error: { name, message }, times }),
      forceStepTimeout: (step, times) => apply({ type: "forceStepTimeout", step, times }),
      mockEvent: (event) => apply({ type: "mockEvent", event }),
      forceEventTimeout: (step) => apply({ type: "forceEventTimeout", step }),
    };
  }

  unsafeWaitForStepResult(id, name, index) {
    return this.#ask("stepResult", id, name, index ?? 1);
  }

  unsafeWaitForStatus(id, status) {
    return this.#ask("status", id, status);
  }

  unsafeGetOutputOrError(id, isOutput) {
    return this.#ask(isOutput ? "output" : "error", id);
  }

  unsafeAbort(id, reason) {
    return this.#ask("abort", id, reason);
  }
}
