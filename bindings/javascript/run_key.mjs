// The runtime's side of emulator/worker/workerd/run_key.py: proofs that count once, instead of the token itself. Everything is
// taken from the globals here, before user code could change them.
const { subtle } = crypto;
const importKey = subtle.importKey.bind(subtle);
const sign = subtle.sign.bind(subtle);
const randomUUID = crypto.randomUUID.bind(crypto);
const encode = TextEncoder.prototype.encode.bind(new TextEncoder());
const REMEMBERED = 20_000;

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class RunKey {
  #token;
  #key;
  #used = new Map();

  constructor(token) {
    this.#token = token;
  }

  /** A new proof for "call", "error" or "forward". */
  async proof(purpose) {
    const nonce = randomUUID().replaceAll("-", "");
    return `${nonce}.${await this.#signed(purpose, nonce)}`;
  }

  /** Whether a proof is of this run and for this purpose, and was not used before. */
  async accepts(purpose, proof) {
    const [nonce, signature] = String(proof).split(".");
    const expected = await this.#signed(purpose, nonce);
    if (signature !== expected || this.#used.has(`${purpose}:${nonce}`)) return false;
    this.#used.set(`${purpose}:${nonce}`, true);
    if (this.#used.size > REMEMBERED) this.#used.delete(this.#used.keys().next().value);
    return true;
  }

  async #signed(purpose, nonce) {
    this.#key ??= await importKey("raw", encode(this.#token), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return hex(await sign("HMAC", this.#key, encode(`${purpose}:${nonce}`)));
  }
}
