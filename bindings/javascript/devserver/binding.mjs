// The wrapped binding: an internal module in the user's isolate. The runtime calls its default export and gives user code the
// result as `env.X`.
import { Channel } from "stepwell:bridge";
import { IntrospectableWorkflow } from "stepwell:introspection";
import { RunKey } from "stepwell:run_key";

export default ({ engine, settings }) =>
  new IntrospectableWorkflow(new Channel(engine, "http://engine", new RunKey(settings.token)), settings.workflow, settings.jsonOptions);
