// Run by test_codec.py: reads the shared vectors, and tells for each what the JavaScript half of the codec makes of it.
import { readFileSync } from "node:fs";
import { decode, encode } from "../../bindings/javascript/codec.mjs";

const vectors = JSON.parse(readFileSync(process.argv[2], "utf8"));
const answers = vectors.map(({ name, text }) => {
  try {
    return { name, text: encode(decode(text)) };
  } catch (error) {
    return { name, error: String(error) };
  }
});
process.stdout.write(JSON.stringify(answers));
