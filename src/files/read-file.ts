import { open } from "node:fs/promises";

const CHUNK = 65_536;

/** The bytes of a file, as they are read: each piece is overwritten by the next. */
export async function* bytesOfFile(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path);
  try {
    // Into one buffer: of a large file, buffers that wait to be collected would be a good part of the memory in use.
    const buffer = new Uint8Array(CHUNK);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
