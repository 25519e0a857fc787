import type { FileHandle } from "node:fs/promises";
import { invalid, type StemmaError } from "@stemma/model";
import { objectSchema, refusal } from "@stemma/session";
import { boundedLine, boundedText } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import type { Entry } from "./open-directory.js";
import type { Workspace } from "./workspace.js";

/** The largest file that is read, in bytes. */
const MAX_BYTES = 10_000_000;

/**
 * The text of a file in the workspace. With `exact` it can be written back as it is; otherwise what is no UTF-8 is replaced.
 * Errors: `INVALID_ARGUMENT` for what is no text file of at most 10 MB.
 */
async function readTextFile(workspace: Workspace, path: string, { exact = false } = {}): Promise<string> {
  return textOf(await workspace.open(path), path, exact);
}

/** The text of a file that a walk has found. Errors: `INVALID_ARGUMENT`. */
export async function readFound(workspace: Workspace, entry: Entry): Promise<string> {
  return textOf(await workspace.openFound(entry), entry.path, false);
}

async function textOf(file: FileHandle, path: string, exact: boolean): Promise<string> {
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw wrong(path, `has ${size} bytes; at most ${MAX_BYTES} are read`);
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw wrong(path, "is not a text file");
    return new TextDecoder("utf-8", { fatal: exact, ignoreBOM: exact }).decode(bytes);
  } catch (error) {
    throw error instanceof TypeError ? wrong(path, "is not written in UTF-8") : error;
  } finally {
    await file.close();
  }
}

function wrong(path: string, why: string): StemmaError {
  return invalid(`${path} ${why}.`, { path });
}

const MAX_LINES = 2000;
const MAX_LINE = 2000;

export const createReadTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "read",
    description: `Read a text file, with line numbers; ${MAX_LINES} lines at a time.`,
    changes: false,
    input: objectSchema(
      {
        path: { type: "string", description: "Relative to the working directory." },
        offset: { type: "integer", minimum: 1, description: "The first line, from 1." },
        limit: { type: "integer", minimum: 1, maximum: MAX_LINES, description: "How many lines." },
      },
      ["path"],
    ),
    async run({ path, offset = 1, limit = MAX_LINES }, { workspace }) {
      const lines = (await readTextFile(workspace, path)).split("\n");
      if (lines.at(-1) === "") lines.pop();
      const shown = lines.slice(offset - 1, offset - 1 + limit);
      const numbered = shown.map((line, index) => `${offset + index}\t${boundedLine(line, MAX_LINE)}`);
      if (numbered.length === 0) return lines.length === 0 ? "(The file is empty.)" : `(It has ${lines.length} lines.)`;
      const end = offset - 1 + shown.length;
      const rest = end < lines.length ? `\n(Lines ${offset} to ${end} of ${lines.length}.)` : "";
      return boundedText(numbered.join("\n")) + rest;
    },
  });

export const createEditTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "edit",
    description: "Replace a text in a file by another. The old text must occur exactly once, unless all is set.",
    changes: true,
    input: objectSchema(
      {
        path: { type: "string", description: "Relative to the working directory." },
        old: { type: "string", minLength: 1, description: "The text to replace, exactly as it stands in the file." },
        new: { type: "string", description: "What to put there." },
        all: { type: "boolean", description: "Replace every occurrence." },
      },
      ["path", "old", "new"],
    ),
    async run({ path, old, new: replacement, all = false }, { workspace }) {
      const text = await readTextFile(workspace, path, { exact: true });
      const count = text.split(old).length - 1;
      if (count === 0) return refusal(`The old text does not occur in ${path}; read the file again.`);
      if (count > 1 && !all)
        return refusal(`The old text occurs ${count} times in ${path}; give more of it, or set all.`);
      const edited = text.replaceAll(old, () => replacement);
      await workspace.write(path, edited, "write");
      return `Replaced ${count} ${count === 1 ? "occurrence" : "occurrences"} in ${path}.`;
    },
  });

export const createWriteTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "write",
    description: "Write a text file, in place of what it held; its directories are made.",
    changes: true,
    input: objectSchema(
      {
        path: { type: "string", description: "Relative to the working directory." },
        content: { type: "string", description: "The whole text." },
      },
      ["path", "content"],
    ),
    async run({ path, content }, { workspace }) {
      await workspace.write(path, content, "create");
      return `Wrote ${content.length} characters to ${path}.`;
    },
  });
