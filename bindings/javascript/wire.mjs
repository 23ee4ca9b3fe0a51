// Frames of the socket between a pass and the engine. A text frame is a line of JSON, then, after a line feed, the text
// of a value if there is one: so no value is ever quoted inside another. A binary frame is a piece of a stream.
// emulator/worker/workerd/wire.py has the messages.

export function readFrame(data) {
  const at = data.indexOf("\n");
  if (at < 0) return [JSON.parse(data), undefined];
  return [JSON.parse(data.slice(0, at)), data.slice(at + 1)];
}

export function writeFrame(head, body) {
  const line = JSON.stringify(head);
  return body === undefined ? line : `${line}\n${body}`;
}

//: workerd closes a socket on messages that are too long; chunks may be.
const PIECE = 256 * 1024;

/** The frames of one chunk: number of the stream, 1 if this is the chunk's last piece, the bytes. */
export function* chunkFrames(stream, chunk) {
  const count = Math.max(1, Math.ceil(chunk.byteLength / PIECE));
  for (let i = 0; i < count; i++) {
    const piece = chunk.subarray(i * PIECE, (i + 1) * PIECE);
    const frame = new Uint8Array(5 + piece.byteLength);
    new DataView(frame.buffer).setUint32(0, stream);
    frame[4] = i === count - 1 ? 1 : 0;
    frame.set(piece, 5);
    yield frame;
  }
}
