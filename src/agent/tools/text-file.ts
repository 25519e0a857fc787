import { StemmaError } from "../../errors.js";
import { files } from "./workspace.js";

/** The largest file that is read, in bytes. */
const MAX_BYTES = 10_000_000;

/** A file's text. Errors: `INVALID_ARGUMENT` for what is no text file of at most 10 MB. */
export async function readTextFile(absolute: string, path: string): Promise<string> {
  const { readFile, stat } = await files();
  const found = await stat(absolute).catch(() => null);
  if (found === null) throw wrong(path, "is not there");
  if (!found.isFile()) throw wrong(path, "is not a file");
  if (found.size > MAX_BYTES) throw wrong(path, `has ${found.size} bytes; at most ${MAX_BYTES} are read`);
  const bytes = await readFile(absolute);
  const text = new TextDecoder().decode(bytes);
  if (text.includes("\0")) throw wrong(path, "is not a text file");
  return text;
}

function wrong(path: string, why: string): StemmaError {
  return new StemmaError("INVALID_ARGUMENT", { path }, `${path} ${why}.`);
}
