import { createReadStream, existsSync, readdirSync, readFileSync } from "node:fs";
import { readItems } from "@stemma/formats";
import { invalid } from "@stemma/model";

/** A file of JSON. Whoever reads its fields finds out whether they are there. */
export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8")) as T;
}

/** The names in a folder that match, sorted. Errors: `INVALID_ARGUMENT` for none; `without` says what is missing. */
export function namesIn(folder: string, pattern: RegExp, without: string): string[] {
  const names = readdirSync(folder).filter((name) => pattern.test(name));
  if (names.length === 0) throw invalid(`The folder "${folder}" holds ${without}.`, { path: folder });
  return names.sort();
}

/** Errors: `INVALID_ARGUMENT` for a path that leads nowhere. */
export function assertThere(path: string): void {
  if (!existsSync(path)) throw invalid(`There is no file or folder "${path}".`, { path });
}

/** The lines of a JSONL file, or the elements of one list of JSON, one at a time, each with its line. Errors: `INVALID_ARGUMENT`. */
export async function* readLines<T>(path: string): AsyncGenerator<{ value: T; line: number }> {
  for await (const item of readItems(createReadStream(path, "utf8"))) {
    if (item.kind === "listEnd") continue;
    const { line } = item.at;
    if (item.kind === "problem") throw invalid(`Line ${line} of "${path}" cannot be read: ${item.why}`, { path, line });
    yield { value: item.value as T, line };
  }
}
