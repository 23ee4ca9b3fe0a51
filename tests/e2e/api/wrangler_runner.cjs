// Runs wrangler commands in one process, one after the other, because loading wrangler takes over a second.
//
// Argument: the path of wrangler's cli.js. Each line of standard input is a JSON request {arguments, environment, folder};
// each line of standard output is its answer {code, out, err}.
"use strict";

const Module = require("node:module");
const readline = require("node:readline");

class Exit extends Error {}

const file = process.argv[2];
const inherited = { ...process.env };
const answer = process.stdout.write.bind(process.stdout);
let out, err;
process.stdout.write = (text) => ((out += text), true);
process.stderr.write = (text) => ((err += text), true);
process.exit = (code) => {
    throw Object.assign(new Exit(), { code: code ?? process.exitCode });
};

const compile = Module.prototype._compile;
Module.prototype._compile = function (source, name) {
    return compile.call(this, name === file ? `${source}\nexports.main = main;` : source, name);
};
const { main } = require(file);

async function run(request) {
    out = err = "";
    process.env = { ...inherited, ...request.environment };
    process.exitCode = undefined;
    process.chdir(request.folder);
    let code;
    try {
        await main(request.arguments);
        code = process.exitCode;
    } catch (error) {
        code = error instanceof Exit ? error.code : 1;
    }
    return { code: code ?? 0, out, err };
}

(async () => {
    for await (const line of readline.createInterface({ input: process.stdin })) {
        answer(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
    }
})();
