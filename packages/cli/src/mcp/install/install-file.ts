import { existsSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { invalid } from "@stemma/model";
import { replaceFile } from "@stemma/model/files";

const PRIVATE = 0o600;

/** The text of a configuration file, "" where there is none. Errors: `INVALID_ARGUMENT` for one that is not UTF-8. */
export function readConfiguration(path: string): string {
  if (!existsSync(path)) return "";
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = `${path} is no text in UTF-8. Nothing was changed.`;
    throw invalid(message, { path }, { cause: error });
  }
}

/**
 * Replaces a configuration file whole or not at all, if it still holds `before`. A new one can be read by its owner only; a link
 * stays, and what it leads to is replaced. Errors: `INVALID_ARGUMENT` where it holds something else by now.
 */
export async function writeConfiguration(path: string, before: string, after: string): Promise<void> {
  if (readConfiguration(path) !== before) {
    const message = `${path} was changed by another program meanwhile. Nothing was changed; run the command again.`;
    throw invalid(message, { path });
  }
  const isThere = existsSync(path);
  const target = isThere ? realpathSync(path) : path;
  if (!isThere) mkdirSync(dirname(path), { recursive: true });
  await replaceFile(target, after, { mode: isThere ? statSync(target).mode & 0o777 : PRIVATE });
}
