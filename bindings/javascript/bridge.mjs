// Calls from user code to the engine. Each is a request of its own, so that it may be made in any request, Durable
// Object or pass; both bodies are a line of JSON, then the text of a value if there is one.
import { decode } from "./codec.mjs";
import { reviveError } from "./errors.mjs";

// Taken before a checked pass watches it: what Stepwell reads is not what run() reads.
const now = Date.now;

// Calls under way at once. Each has a connection, of which a process may have few.
const MOST = 64;
// A call whose request was ended is never heard of again: after this time it no longer counts.
const FORGOTTEN_MS = 10_000;
const PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;

export class Channel {
  #fetcher;
  #address;
  #key;
  #heard = new Map(); // when each call was last heard of, by its number: those under way, and those that wait
  #next = 1;

  constructor(fetcher, address, key) {
    this.#fetcher = fetcher;
    this.#address = address;
    this.#key = key;
  }

  /** The value that the engine answers; throws its error. `head`: `{workflow, method, id?}`, `body`: an encoded value. */
  async call(head, body) {
    const number = await this.#turn();
    try {
      const response = await this.#post("/call", head, body);
      return readAnswer(await response.text());
    } finally {
      this.#heard.delete(number);
    }
  }

  /**
   * The number of a call that may begin, after those before it. It looks again and again, since a promise must not be
   * resolved by another request than the one that waits for it.
   */
  async #turn() {
    const number = this.#next++;
    this.#heard.set(number, now());
    while (!this.#mayBegin(number)) {
      await new Promise((resolve) => setTimeout(resolve, this.#pause(number)));
      this.#heard.set(number, now());
    }
    return number;
  }

  #mayBegin(number) {
    let before = 0;
    for (const [other, heardAt] of this.#heard) {
      if (other === number) return true;
      if (heardAt + FORGOTTEN_MS < now()) this.#heard.delete(other);
      else if (++before >= MOST) return false;
    }
    return true;
  }

  /** The further behind, the longer. */
  #pause(number) {
    const [first] = this.#heard.keys();
    return Math.min(PAUSE_MS * Math.ceil((number - first) / MOST), LONGEST_PAUSE_MS);
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

  /** Passes a request to a Python Worker. `target` says to which of its classes. */
  async forward(fetcher, request, worker, target) {
    const url = new URL(request.url);
    const passed = new Request(this.#address + url.pathname + url.search, request);
    passed.headers.set("Stepwell-Service", worker);
    passed.headers.set("Stepwell-Token", await this.#key.proof("forward"));
    passed.headers.set("Stepwell-Origin", url.origin);
    passed.headers.set("Stepwell-Target", JSON.stringify(target));
    return fetcher.fetch(passed, { redirect: "manual" });
  }

  /** The value that a Python Worker answers; throws its error. */
  async ask(head, body) {
    const response = await this.#post("/python", head, body);
    return readAnswer(await response.text());
  }

  // The engine closes connections that are idle. A request that was about to use one is sent again, on a new one: the
  // engine has not seen it.
  async #post(path, head, body) {
    const text = `${JSON.stringify(head)}\n${body}`;
    const send = async () =>
      this.#fetcher.fetch(this.#address + path, { method: "POST", headers: await this.#headers(), body: text });
    try {
      return await send();
    } catch {
      return send();
    }
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

// Frames of this code where it is beside the user's, not bundled with it.
const OURS = /[ (/]stepwell(?::\w+|\/\w+\.mjs):\d/;

/** The engine's error with the stack of the code that called it: the engine has none of that code. */
function fromHere(error) {
  const frames = new Error().stack.split("\n").slice(1).filter((line) => !OURS.test(line));
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
