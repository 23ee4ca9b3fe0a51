// How a process of the user's command finds the engine, and the line by which it says what it serves.
import { readFileSync } from "node:fs";
import http from "node:http";
import { RunKey } from "../run_key.mjs";

const RETRY_MS = 500;
const PATIENCE_MS = 5_000;

/** `{engine: "host:port", token}` of the running `stepwell dev`; undefined if none runs. */
export function readSession() {
  try {
    const session = JSON.parse(readFileSync(process.env.STEPWELL_SESSION, "utf8"));
    return session.ended ? undefined : session;
  } catch {
    return undefined;
  }
}

export const say = (text) => process.stderr.write(`[stepwell] ${text}\n`);

/**
 * Tells the engine what one Miniflare serves, and keeps the connection open: when it ends, so have these Workers. It never
 * keeps the process alive.
 */
export class Registration {
  #session;
  #onNewEngine;
  #message;
  #request;

  /** `onNewEngine(session)` is called when another engine has taken the place of the one that was told. */
  constructor(session, onNewEngine) {
    this.#session = session;
    this.#onNewEngine = onNewEngine;
  }

  /** Resolves when the engine has taken the message, or does not answer. */
  tell(message) {
    this.#message = message;
    return this.#send();
  }

  close() {
    this.#message = undefined;
    this.#request?.destroy();
  }

  async #send() {
    const before = this.#request;
    await new Promise((resolve) => {
      const request = this.#post(this.#message, resolve);
      request.on("close", () => this.#request === request && this.#retry());
      this.#request = request;
    });
    before?.destroy();
  }

  /** Calls `answered` at the first byte of the answer, at its end, and after a while. */
  #post(message, answered) {
    const request = http.request(`http://${this.#session.engine}/hosts`, { method: "POST", agent: false });
    const timer = setTimeout(answered, PATIENCE_MS).unref();
    const done = () => {
      clearTimeout(timer);
      answered();
    };
    request.on("socket", (socket) => socket.unref());
    request.on("error", done);
    request.on("close", done);
    request.on("response", (response) => {
      response.on("data", done);
      response.on("error", done);
      response.on("end", () => request.destroy());
    });
    new RunKey(this.#session.token).proof("call").then((proof) => {
      request.setHeader("authorization", `Stepwell ${proof}`);
      request.end(JSON.stringify(message));
    });
    return request;
  }

  #retry() {
    setTimeout(() => {
      const session = readSession();
      if (this.#message === undefined) return;
      if (session === undefined) return this.#retry();
      const moved = session.engine !== this.#session.engine || session.token !== this.#session.token;
      this.#session = session;
      if (moved) this.#onNewEngine(session);
      else this.#send();
    }, RETRY_MS).unref();
  }
}
