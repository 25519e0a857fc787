import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@stemma/model";
import { assertText, cut, invalid, StemmaError, sha256 } from "@stemma/model";
import { bytesOfFile, replaceFile } from "@stemma/model/files";
import { type CopySource, type CopyTarget, conflict, type PartOf } from "./contract.js";
import { readParts, writePart } from "./jsonl-parts.js";

/** A folder or a file of JSONL. */
export interface JsonlPlace extends CopySource, CopyTarget {}

/** Says in a folder which files belong to a copy, in the order in which they were written; without `isWhole` it was cut off. */
const INDEX = "stemma-copy.json";

interface Index {
  readonly stemma: 2;
  readonly isWhole: boolean;
  readonly files: readonly string[];
}

/**
 * JSONL to copy to or from with `copyStore`: a folder, with a file for each session. A path that ends with `.jsonl` is a file to
 * copy from. Errors: `INVALID_ARGUMENT`; at the first use `UNKNOWN_FORMAT`, and those of the file system.
 */
export function jsonlFiles(path: string): JsonlPlace {
  assertText(path, "The path of jsonlFiles()");
  if (/\.jsonl$/i.test(path)) return { ...refusingTarget(path), parts: () => readParts(bytesOfFile(path)) };
  return { ...folderTarget(path), parts: () => readFolder(path) };
}

async function* readFolder(folder: string): ReturnType<CopySource["parts"]> {
  const index = await readIndex(folder);
  if (index?.isWhole === false) {
    const message = `The copy in "${folder}" was cut off. Copy to it again, then from it.`;
    throw new StemmaError("UNKNOWN_FORMAT", { folder }, message);
  }
  const names = index?.files ?? (await readdir(folder)).filter((name) => name.endsWith(".jsonl")).sort();
  for (const name of names) yield* readParts(bytesOfFile(join(folder, name)));
}

function folderTarget(folder: string): CopyTarget {
  const pathOf = (of: PartOf) => join(folder, nameOf(of));
  return {
    async begin() {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeIndex(folder, { stemma: 2, isWhole: false, files: [] });
    },
    async write(of, header, lines) {
      const path = pathOf(of);
      if (!existsSync(path)) {
        await replaceFile(path, writePart(header, lines), { mode: 0o600 });
        return true;
      }
      const stored = partLines(path)[Symbol.asyncIterator]();
      const isNext = async (line: JsonObject | null): Promise<boolean> => {
        const { value, done } = await stored.next();
        return JSON.stringify(done === true ? null : value) === JSON.stringify(line);
      };
      try {
        let isSame = await isNext(header);
        for await (const line of lines) {
          isSame &&= await isNext(line);
          if (!isSame) break;
        }
        if (!isSame) throw conflict(of, `"${path}" is another state of it`);
        return false;
      } finally {
        await stored.return?.(undefined);
      }
    },
    read: (of) => partLines(pathOf(of)),
    async end(parts) {
      const written = parts.filter(({ of }) => existsSync(pathOf(of))).map(({ of }) => nameOf(of));
      await writeIndex(folder, { stemma: 2, isWhole: true, files: written });
    },
  };
}

function refusingTarget(path: string): CopyTarget {
  const message = `"${path}" is a file: a copy goes to a folder, where it can go on when it was cut off. Name a folder, or use \`stemma export --all\`.`;
  const refuse = (): never => {
    throw invalid(message, { path });
  };
  return { begin: async () => refuse(), write: async () => refuse(), read: refuse };
}

async function* partLines(path: string): AsyncGenerator<JsonObject> {
  for await (const { header, lines } of readParts(bytesOfFile(path))) {
    yield header;
    yield* lines();
  }
}

// Readable, and another one for each, also where names differ in case only.
function nameOf(of: PartOf): string {
  const [[kind, name] = ["", ""]] = Object.entries(of) as [string, string][];
  const readable = cut(name.replace(/[^\p{L}\p{N}._-]+/gu, "-"), 0, 40);
  return `${kind}-${readable}-${sha256(`${kind}:${name}`).slice(0, 16)}.jsonl`;
}

async function readIndex(folder: string): Promise<Index | null> {
  const path = join(folder, INDEX);
  return existsSync(path) ? (JSON.parse(await readFile(path, "utf8")) as Index) : null;
}

async function writeIndex(folder: string, index: Index): Promise<void> {
  await replaceFile(join(folder, INDEX), `${JSON.stringify(index)}\n`, { mode: 0o600 });
}
