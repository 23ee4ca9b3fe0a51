// Calls from user code to the engine. Each is a request of its own, so that it may be made in any request, Durable
// Object or pass; both bodies are a line of JSON, then the text of a value if there is one.
import { decode } from "./codec.mjs";
import { reviveError } from "./errors.mjs";

export class Channel {
  #fetcher;
  #address;
  #key;

  constructor(fetcher, address, key) {
    this.#fetcher = fetcher;
    this.#address = address;
    this.#key = key;
  }

  /** The value that the engine answers; throws its error. `head`: `{workflow, method, id?}`, `body`: an encoded value. */
  async call(head, body) {
    const response = await this.#post("/call", head, body);
    return readAnswer(await response.text());
  }

  /** The lines of a subscription, each the head and body of one event, as a reader. */
  async subscribe(head, body) {
    const response = await this.#post("/subscribe", head, body);
    if (response.headers.get("content-type") !== "application/x-ndjson") {
      readAnswer(await response.text());
      throw new Error("the engine gave no subscription");
    }
    return new LineReader(response.body);
  }

  /** A stream that the engine holds, as a stream of bytes. */
  async stream(id) {
    const response = await this.#fetcher.fetch(`${this.#address}/streams/${id}`, { headers: await this.#headers() });
    if (!response.ok) throw new Error(`the stream ${id} is gone`);
    return response.body;
  }

  async #post(path, head, body) {
    const text = `${JSON.stringify(head)}\n${body}`;
    return this.#fetcher.fetch(this.#address + path, { method: "POST", headers: await this.#headers(), body: text });
  }

  /** Each request proves anew whose it is (emulator/worker/workerd/run_key.py). */
  async #headers() {
    return { authorization: `Stepwell ${await this.#key.proof("call")}` };
  }
}

function readAnswer(text) {
  const at = text.indexOf("\n");
  const head = JSON.parse(text.slice(0, at));
  if (head.error) throw fromHere(reviveError(head.error));
  if (head.status) return JSON.parse(text.slice(at + 1)); // its output is a tree of its own
  return decode(text.slice(at + 1));
}

/** The engine's error with the stack of the code that called it: the engine has none of that code. */
function fromHere(error) {
  const frames = new Error().stack.split("\n").slice(1);
  error.stack = [`${error.name}: ${error.message}`, ...frames].join("\n");
  return error;
}

/** Lines of a stream of bytes, one at a time. */
class LineReader {
  #reader;
  #decoder = new TextDecoder();
  #rest = "";

  constructor(stream) {
    this.#reader = stream.getReader();
  }

  /** The next line, or null at the end. */
  async next() {
    for (;;) {
      const at = this.#rest.indexOf("\n");
      if (at >= 0) {
        const line = this.#rest.slice(0, at);
        this.#rest = this.#rest.slice(at + 1);
        if (line !== "") return line; // the first is empty: it only opens the stream
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#rest += this.#decoder.decode(value, { stream: true });
    }
  }

  cancel() {
    this.#reader.cancel().catch(() => {});
  }
}
