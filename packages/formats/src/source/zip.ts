import zlib from "node:zlib";
import { quote, StemmaError } from "@stemma/model";
import type { Entry, ZipFile } from "yauzl";
import { archiveError, assertNoBomb } from "../json-items.js";

/** The conversations in an export; large ones are in several files. */
const CONVERSATIONS = /(^|\/)conversations(-\d+)?\.json$/;
/** Files that an archive may hold: the pictures of an export are beside the conversations. */
const MAX_ENTRIES = 100_000;

export interface ZippedFile {
  name: string;
  bytes: AsyncIterable<Uint8Array>;
}

export function isZip(start: Uint8Array): boolean {
  return start[0] === 0x50 && start[1] === 0x4b && (start[2] === 3 || start[2] === 5);
}

/**
 * The files with conversations in a zip file, unpacked while they are read; nothing is written to the disk. Errors:
 * `ARCHIVE_REFUSED` for an archive that holds none, that is damaged, cut or encrypted, or that was made to do harm.
 */
export async function* readZip(path: string): AsyncGenerator<ZippedFile> {
  const { openPromise } = await import("yauzl");
  const zip = await refusing(openPromise(path, { autoClose: false }));
  try {
    for (const entry of await findEntries(zip)) yield { name: entry.fileName, bytes: readEntry(zip, entry) };
  } finally {
    zip.close();
  }
}

async function findEntries(zip: ZipFile): Promise<Entry[]> {
  if (zip.entryCount > MAX_ENTRIES) throw archiveError(`it holds more than ${MAX_ENTRIES} files`);
  const found: Entry[] = [];
  const ranges: { start: number; end: number }[] = [];
  for await (const entry of refusingAll(zip.eachEntry())) {
    if (!CONVERSATIONS.test(entry.fileName)) continue;
    const { fileName, compressedSize, uncompressedSize, relativeOffsetOfLocalHeader: start } = entry;
    if (found.some((other) => other.fileName === fileName)) throw archiveError(`it holds ${quote(fileName)} twice`);
    if (entry.isEncrypted()) throw archiveError(`${quote(fileName)} is encrypted; unpack it first`);
    assertNoBomb(compressedSize, uncompressedSize);
    const { fileDataStart } = await refusing(zip.readLocalFileHeaderPromise(entry, { minimal: true }));
    const range = { start, end: fileDataStart + compressedSize };
    if (ranges.some((other) => range.start < other.end && other.start < range.end))
      throw archiveError(`${quote(fileName)} overlaps another of its files`);
    ranges.push(range);
    found.push(entry);
  }
  if (found.length === 0) throw archiveError("it holds no conversations.json");
  return found;
}

async function* readEntry(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const name = quote(entry.fileName);
  let crc = 0;
  for await (const chunk of refusingAll<Uint8Array>(await refusing(zip.openReadStreamPromise(entry)))) {
    crc = zlib.crc32(chunk, crc);
    yield chunk;
  }
  if (crc !== entry.crc32) throw archiveError(`${name} is damaged: its checksum is another one`);
}

async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw refusal(cause);
  }
}

async function* refusingAll<T>(values: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* values;
  } catch (cause) {
    throw refusal(cause);
  }
}

// What the library and the inflater say of an archive; what the system says of its file stays as it is.
function refusal(cause: unknown): unknown {
  if (StemmaError.isInstance(cause) || !(cause instanceof Error) || "syscall" in cause) return cause;
  return archiveError(cause.message.replace(/\.$/, ""), cause);
}
