import zlib from "node:zlib";
import { StemmaError } from "../../errors.js";
import { archiveError, assertNoBomb } from "./unpacking.js";

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** Bytes that are unpacked at once. */
const STEP = 16 * 1024;

/** True for the beginning of a file that is compressed with Zstandard. */
export function isZstd(start: Uint8Array): boolean {
  return MAGIC.every((byte, index) => start[index] === byte);
}

/** Unpacks while it reads. Errors: `ARCHIVE_REFUSED` for data that is damaged, cut, or made to fill the memory. */
export async function* unpackZstd(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let packed = 0;
  let unpacked = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      packed += chunk.length;
      // The decoder keeps what it cannot read yet; whoever gives the chunk may write over it.
      yield chunk.slice();
    }
  }
  try {
    for await (const chunk of hasZstd(zlib)
      ? unpackNatively(zlib, counted())
      : unpackInScript(counted(), () => packed)) {
      unpacked += chunk.length;
      assertNoBomb(packed, unpacked);
      yield chunk;
    }
  } catch (cause) {
    if (StemmaError.isInstance(cause) || !(cause instanceof Error) || isSystemError(cause)) throw cause;
    throw archiveError(`its Zstandard data is damaged or cut (${cause.message})`, cause);
  }
}

/** Node has it from 22.15 on. */
interface WithZstd {
  createZstdDecompress(): NodeJS.ReadWriteStream & AsyncIterable<Uint8Array> & { destroy(error?: Error): void };
}

function hasZstd(module: object): module is WithZstd {
  return "createZstdDecompress" in module && typeof module.createZstdDecompress === "function";
}

async function* unpackNatively(module: WithZstd, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { Readable } = await import("node:stream");
  const decoder = module.createZstdDecompress();
  const source = Readable.from(bytes);
  source.on("error", (error) => decoder.destroy(error));
  yield* source.pipe(decoder);
}

async function* unpackInScript(bytes: AsyncIterable<Uint8Array>, packed: () => number): AsyncGenerator<Uint8Array> {
  const { Decompress } = await import("fzstd");
  let ready: Uint8Array[] = [];
  let unpacked = 0;
  const decoder = new Decompress((chunk) => {
    unpacked += chunk.length;
    // One step can make gigabytes of a bomb.
    assertNoBomb(packed(), unpacked);
    ready.push(chunk);
  });
  const push = (chunk: Uint8Array, isLast: boolean): Uint8Array[] => {
    ready = [];
    decoder.push(chunk, isLast);
    return ready;
  };
  for await (const chunk of bytes) {
    for (let start = 0; start < chunk.length; start += STEP) yield* push(chunk.subarray(start, start + STEP), false);
  }
  yield* push(new Uint8Array(0), true);
}

function isSystemError(error: Error): boolean {
  return "syscall" in error;
}
