// Run by test_literals.py: for pairs of a stored text and its JavaScript, what each is once it was read.
import { readFileSync } from "node:fs";
import { decode, encode } from "../../bindings/javascript/codec.mjs";

const pairs = JSON.parse(readFileSync(0, "utf8"));
const answers = pairs.map(([text, source]) => ({
  pasted: encode((0, eval)(`(${source})`)),
  read: encode(decode(text)),
}));
process.stdout.write(JSON.stringify(answers));
