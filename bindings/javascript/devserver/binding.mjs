// The wrapped binding: an internal module in the user's isolate. The runtime calls its default export and gives user code the
// result as `env.X`.
import { Channel } from "stepwell:bridge";
import { RunKey } from "stepwell:run_key";
import { WorkflowImpl } from "stepwell:workflow";

export default ({ engine, settings }) =>
  new WorkflowImpl(new Channel(engine, "http://engine", new RunKey(settings.token)), settings.workflow, settings.jsonOptions);
