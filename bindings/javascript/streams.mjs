// Streams that a step returns, on their way to the engine: one chunk for each time it asks.
import { describeError } from "./errors.mjs";
import { chunkFrames, writeFrame } from "./wire.mjs";

const LOCKED =
  "Step returned a ReadableStream that is already locked or otherwise unreadable. " +
  "Return a fresh, unlocked ReadableStream from step.do().";
const UNSUPPORTED =
  "Step returned a ReadableStream with unsupported chunk type. Only ArrayBuffer and TypedArray chunks are supported.";

/** A reader of the stream; for one that is locked already, a reader that fails with Cloudflare's error. */
export function openStream(stream) {
  return stream.locked ? unreadable : stream.getReader();
}

const unreadable = {
  async read() {
    throw named("InvalidStepReadableStreamError", LOCKED);
  },
  async cancel() {},
};

export class OutgoingStream {
  #number;
  #reader;

  constructor(number, reader) {
    this.#number = number;
    this.#reader = reader;
  }

  /** Sends the next chunk, or how the stream ended; true when it has. */
  async next(send) {
    const s = this.#number;
    try {
      const { done, value } = await this.#reader.read();
      if (done) send(writeFrame({ t: "ended", s }));
      else for (const frame of chunkFrames(s, bytesOf(value))) send(frame);
      return done;
    } catch (error) {
      send(writeFrame({ t: "broken", s, error: describeError(error) }));
      return true;
    }
  }

  cancel(reason) {
    this.#reader.cancel(reason).catch(() => {});
  }
}

// Text passes, as through Cloudflare's RPC (contract case streams-string-chunks).
function bytesOf(chunk) {
  if (typeof chunk === "string") return new TextEncoder().encode(chunk);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw named("UnsupportedStreamChunkError", UNSUPPORTED);
}

function named(name, message) {
  const error = new Error(message);
  error.name = name;
  return error;
}
