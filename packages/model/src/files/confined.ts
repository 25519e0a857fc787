import { isUtf8 } from "node:buffer";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";

/** The real path; null when it is not there, or lies outside all `roots`, which are real. */
export async function within(path: string, ...roots: readonly string[]): Promise<string | null> {
  const real = await findRealPath(path);
  return real !== null && roots.some((root) => isInside(real, root)) ? real : null;
}

function isInside(path: string, root: string): boolean {
  const inside = relative(root, path);
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** The path free of links; null when nothing is there. */
export async function findRealPath(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    if (ABSENT.has((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}

const ABSENT = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"]);

/** The largest file that is loaded, in bytes. */
const MAX_FILE_BYTES = 1_000_000;

/** A text file of at most 1 MB; null for anything else, and for no path. */
export async function readText(path: string | null): Promise<string | null> {
  if (path === null) return null;
  const file = await stat(path);
  if (!file.isFile() || file.size > MAX_FILE_BYTES) return null;
  const bytes = await readFile(path);
  return isUtf8(bytes) && !bytes.includes(0) ? new TextDecoder().decode(bytes) : null;
}

/** The files below a folder but for hidden ones, sorted, with `/`. */
export async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep))
    .filter((path) => !path.some(isHidden))
    .map((path) => path.join("/"))
    .sort();
}

/** True for a hidden name, "." and ".." among them, and for what cannot be in a path. */
export function isHidden(name: string): boolean {
  return name.startsWith(".") || name.includes("\0") || name === "";
}
