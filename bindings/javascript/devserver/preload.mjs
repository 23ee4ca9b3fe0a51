// Loaded into every Node process of the user's command by NODE_OPTIONS (emulator/worker/devserver/environment.py): puts
// Stepwell in the place of the Workflows engine of each copy of `miniflare` that the process loads. Nothing else changes.
import { readFileSync } from "node:fs";
import Module, * as nodeModule from "node:module";
import { extendMiniflare } from "./miniflare.mjs";
import { readSession } from "./session.mjs";

const IS_MINIFLARE = /[\\/]miniflare[\\/]dist[\\/]src[\\/]index\.js$/;
const HOOK = "stepwell.extendMiniflare";
const extended = (source) => `${source}\n;module.exports = globalThis[Symbol.for("${HOOK}")](module.exports);\n`;

if (readSession() !== undefined) {
  globalThis[Symbol.for(HOOK)] ??= extendMiniflare;
  if (nodeModule.registerHooks) nodeModule.registerHooks({ load });
  else extendCompiling();
}

function load(url, context, next) {
  const result = next(url, context);
  if (!IS_MINIFLARE.test(url)) return result;
  return { ...result, source: extended(result.source?.toString() ?? readFileSync(new URL(url), "utf8")) };
}

/** For Node before 22.15, which has no such hooks: miniflare is CommonJS, and every way to load that ends here. */
function extendCompiling() {
  const { _compile } = Module.prototype;
  Module.prototype._compile = function (content, filename, ...rest) {
    return _compile.call(this, IS_MINIFLARE.test(filename) ? extended(content) : content, filename, ...rest);
  };
}
