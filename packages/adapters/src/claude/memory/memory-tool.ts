// One tool of Claude's, whole: its commands, and the files that they make of a collection of entries.
import { assertStorableText, assertText, check, defineOptions, StemmaError, utf8Length } from "@stemma/model";
import { assertSession, convert, coreOf, type Session, storeNeeded, type ToolCallOptions } from "@stemma/session";
import {
  assertScope,
  type BlockScope,
  type EntryScope,
  type KeptWrite,
  type Store,
  type StoredEntry,
  type WriteOrigin,
} from "@stemma/store";
import { allPages } from "../../item-history.js";
import {
  directoryKey,
  type MemoryCommand,
  type MemoryHandlers,
  type MemoryPath,
  parentsOf,
  parsePath,
  realPath,
  refused,
  runCommand,
} from "./paths.js";

export interface MemoryToolOptions {
  /** The label of the entries in which the files are kept. Default: "memories". */
  label?: string | undefined;
  /** Who owns the files. Default: the session. */
  scope?: BlockScope | undefined;
}

const OPTIONS = defineOptions<MemoryToolOptions>({ label: check.text, scope: assertScope });

/** The handlers, and a function that calls the handler of a command. */
export interface MemoryTool extends MemoryHandlers {
  /** Calls the handler that the command names. Errors: those of the handlers. */
  execute(command: MemoryCommand, call?: ToolCallOptions): Promise<string>;
}

/**
 * The handlers of Anthropic's memory tool (`memory_20250818`): give them to `betaMemoryTool` of `@anthropic-ai/sdk`, or
 * `execute` to `anthropic.tools.memory_20250818` of the AI SDK. A file is an entry of the session's store, whose key is its
 * path below /memories. A command is one transaction. Each file that it writes is a version whose author is the model. It
 * starts the session. Errors: `STORE_UNSUPPORTED` on a `SessionProvider` of your own, `INVALID_ARGUMENT`; of a command
 * `MEMORY_REFUSED`, `INVALID_ARGUMENT`, `INVALID_TEXT`, `USER_REQUIRED` for a user's files in a session of nobody, and those
 * of the store.
 */
export function memoryTool(session: Session, options: MemoryToolOptions = {}): MemoryTool {
  OPTIONS.assert(options, "memoryTool()");
  assertSession(session, "memoryTool()");
  const { label = "memories", scope } = options;
  const { store } = coreOf(session);
  if (store === null) throw storeNeeded("memoryTool()");
  const files = new MemoryFiles(store, { sessionId: session.id, label, scope });

  const originOf = async ({ toolCallId }: ToolCallOptions = {}): Promise<WriteOrigin> => {
    const answered = await store.session(session.id).leaf();
    const messageIds = answered === null ? [] : [answered.id];
    return { author: "model", sessionId: session.id, messageIds, toolCallId };
  };

  const edit = async (path: MemoryPath, origin: WriteOrigin, by: (content: string) => string): Promise<void> => {
    const from = contentOf(path, await files.look(path));
    await files.change([{ key: path.key, from, to: by(from) }], origin);
  };

  // What a path holds: a file, or all that is below a directory; null for nothing.
  const contentsOf = async (path: MemoryPath): Promise<{ key: string; content: string }[] | null> => {
    const found = await files.look(path);
    if (found.kind === "missing") return null;
    return found.kind === "file" ? [{ key: path.key, content: found.content }] : files.below(path);
  };

  const handlers: MemoryHandlers = {
    async view({ path: asked, view_range }) {
      const path = parsePath(asked);
      const found = await files.look(path);
      if (found.kind === "directory") return listing(path, await files.below(path));
      const lines = numberedLines(path, contentOf(path, found), view_range);
      return `Here's the content of ${path.text} with line numbers:\n${lines}`;
    },

    async create({ path: asked, file_text }, call) {
      const path = parsePath(asked);
      const content = fileText(file_text, "file_text");
      const origin = await originOf(call);
      await untilUnchanged(async () => {
        if ((await files.look(path)).kind !== "missing") throw refused(`File ${path.text} already exists`);
        await files.change([{ key: path.key, from: null, to: content }], origin);
      });
      return `File created successfully at: ${path.text}`;
    },

    async str_replace({ path: asked, old_str, new_str }, call) {
      const path = parsePath(asked);
      assertText(old_str, "The old_str of the memory tool");
      const to = fileText(new_str, "new_str");
      const origin = await originOf(call);
      let shown = "";
      await untilUnchanged(() =>
        edit(path, origin, (content) => {
          const replaced = replaceOnce(path, content, old_str, to);
          shown = replaced.shown;
          return replaced.content;
        }),
      );
      return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${shown}`;
    },

    async insert({ path: asked, insert_line, insert_text }, call) {
      const path = parsePath(asked);
      const text = fileText(insert_text, "insert_text");
      const origin = await originOf(call);
      await untilUnchanged(() => edit(path, origin, (content) => insertLines(content, insert_line, text)));
      return `The file ${path.text} has been edited.`;
    },

    async delete({ path: asked }, call) {
      const path = parsePath(asked);
      if (path.key === "") throw refused("Cannot delete the /memories directory itself");
      const origin = await originOf(call);
      await untilUnchanged(async () => {
        const gone = await contentsOf(path);
        if (gone === null) throw refused(`The path ${path.text} does not exist`);
        const changes = gone.map(({ key, content }) => ({ key, from: content, to: null }));
        await files.change(changes, origin);
      });
      return `Successfully deleted ${path.text}`;
    },

    async rename({ old_path, new_path }, call) {
      const origin = await originOf(call);
      await untilUnchanged(async () => {
        const from = parsePath(old_path);
        const moved = await contentsOf(from);
        const to = parsePath(new_path);
        const { kind } = await files.look(to);
        if (from.key === "") throw refused("Cannot rename the /memories directory itself");
        if (kind !== "missing") throw refused(`The destination ${to.text} already exists`);
        if (to.key.startsWith(directoryKey(from.key))) {
          throw refused(`EINVAL: invalid argument, rename '${realPath(from.key)}' -> '${realPath(to.key)}'`);
        }
        if (moved === null) throw refused(`The path ${from.text} does not exist`);
        const changes = moved.flatMap(({ key, content }) => [
          { key, from: content, to: null },
          { key: to.key + key.slice(from.key.length), from: null, to: content },
        ]);
        await files.change(changes, origin);
      });
      return `Successfully renamed ${old_path} to ${new_path}`;
    },
  };
  return { ...handlers, execute: (command, call) => runCommand(handlers, command, call) };
}

function contentOf({ text }: MemoryPath, found: Found): string {
  if (found.kind === "file") return found.content;
  const why = found.kind === "directory" ? "is not a file." : "does not exist. Please provide a valid path.";
  throw refused(`The path ${text} ${why}`);
}

/** How many levels of a directory are listed. */
const LEVELS = 2;

/** A directory as `view` shows it: each file and directory with its size. That of a directory is the sum of its files. */
function listing({ text, key }: MemoryPath, entries: readonly StoredEntry[]): string {
  const sizes = new Map<string, number>();
  let total = 0;
  for (const entry of entries) {
    const size = utf8Length(entry.content);
    total += size;
    for (const name of namesOf(entry.key.slice(directoryKey(key).length))) {
      sizes.set(name, (sizes.get(name) ?? 0) + size);
    }
  }
  // A directory comes before what is in it, and that before its next neighbour.
  const inOrder = [...sizes].map(([name, size]) => ({ name, size, order: name.replaceAll("/", "\0") }));
  inOrder.sort((a, b) => (a.order < b.order ? -1 : 1));
  const lines = inOrder.map(({ name, size }) => `${sizeText(size)}\t${text}/${name}`);
  const head = `Here're the files and directories up to ${LEVELS} levels deep in ${text}, excluding hidden items and node_modules:`;
  return [head, `${sizeText(total)}\t${text}`, ...lines].join("\n");
}

// What a key adds to the listing: the directories above it, with a slash at the end, and its file.
function namesOf(key: string): string[] {
  const shown: string[] = [];
  const names = key.split("/");
  for (const [level, name] of names.slice(0, LEVELS).entries()) {
    if (name === "" || name.startsWith(".") || name === "node_modules") break;
    const isDirectory = level < names.length - 1;
    shown.push(names.slice(0, level + 1).join("/") + (isDirectory ? "/" : ""));
  }
  return shown;
}

// One decimal, unless there is nothing behind the point.
function sizeText(bytes: number): string {
  let size = bytes;
  let unit = "B";
  for (const next of ["K", "M", "G"]) {
    if (size < 1024) break;
    size /= 1024;
    unit = next;
  }
  return `${Number.isInteger(size) ? size : size.toFixed(1)}${unit}`;
}

const MAX_LINES = 999_999;
/** Lines around an edit that its answer shows. */
const AROUND = 2;

/** A file's lines with their numbers. `range` is the first and the last line, -1 for the end. Errors: `MEMORY_REFUSED`. */
function numberedLines({ text }: MemoryPath, content: string, range: readonly number[] | null | undefined): string {
  const lines = content.split("\n");
  if (lines.length > MAX_LINES) {
    throw refused(`File ${text} has too many lines (${lines.length}). Maximum is 999,999 lines.`);
  }
  const asked = convert("array", range);
  const [first = 1, last = -1] = Array.isArray(asked) && asked.length === 2 ? asked.map(lineNumber) : [];
  const start = Math.max(1, first) - 1;
  return numbered(lines.slice(start, last === -1 ? undefined : last), start);
}

/** A text with the one line that holds `from` changed, and what the edit's answer shows. Errors: `MEMORY_REFUSED`. */
function replaceOnce(
  { text }: MemoryPath,
  content: string,
  from: string,
  to: string,
): { content: string; shown: string } {
  const found = content.split("\n").flatMap((line, index) => (line.includes(from) ? [index] : []));
  const [at] = found;
  if (at === undefined) {
    throw refused(`No replacement was performed, old_str \`${from}\` did not appear verbatim in ${text}.`);
  }
  if (found.length > 1) {
    const lines = found.map((index) => index + 1).join(", ");
    throw refused(
      `No replacement was performed. Multiple occurrences of old_str \`${from}\` in lines: ${lines}. Please ensure it is unique`,
    );
  }
  // A function, because a text may hold $&.
  const changed = content.replace(from, () => to);
  const start = Math.max(0, at - AROUND);
  return { content: changed, shown: numbered(changed.split("\n").slice(start, at + AROUND + 1), start) };
}

/** A text with lines added behind line `at`, 0 for the top. Errors: `MEMORY_REFUSED`. */
function insertLines(content: string, line: number, text: string): string {
  const lines = content.split("\n");
  const at = lineNumber(line);
  if (at === undefined || !Number.isInteger(at) || at < 0 || at > lines.length) {
    const range = `It should be within the range of lines of the file: [0, ${lines.length}]`;
    throw refused(`Invalid \`insert_line\` parameter: ${line}. ${range}`);
  }
  return lines.toSpliced(at, 0, text.replace(/\n$/, "")).join("\n");
}

/** A number, also where a model wrote it as a text; undefined for anything else. */
function lineNumber(value: unknown): number | undefined {
  const number = convert("integer", value);
  return typeof number === "number" ? number : undefined;
}

function numbered(lines: readonly string[], before: number): string {
  return lines.map((line, index) => `${String(before + index + 1).padStart(6)}\t${line}`).join("\n");
}

/** The text of a file. Half a surrogate pair becomes another character when it is written. Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`. */
function fileText(value: unknown, name: string): string {
  assertText(value, `The ${name} of the memory tool`);
  assertStorableText(value.toWellFormed(), `The ${name} of the memory tool`);
  return value;
}

/** The file, the directory or nothing that stands under a path. */
type Found =
  | { readonly kind: "file"; readonly content: string }
  | { readonly kind: "directory" }
  | { readonly kind: "missing" };

/** A change of one file; null for a file that is not there. */
interface FileChange {
  readonly key: string;
  readonly from: string | null;
  readonly to: string | null;
}

/** An entry of a directory has this metadata beside its empty content, so that no search finds it. */
const DIRECTORY = "directory";

/** Files that are entries of a store. A directory is an entry too, whose key ends in a slash. */
class MemoryFiles {
  constructor(
    private readonly store: Store,
    private readonly scope: EntryScope,
  ) {}

  /** Errors: `MEMORY_REFUSED` for a path below a file. */
  async look({ key }: MemoryPath): Promise<Found> {
    for (const parent of parentsOf(key)) {
      if ((await this.store.entries.get(this.scope, parent)) !== null) {
        throw refused(`ENOTDIR: not a directory, realpath '${realPath(key)}'`);
      }
      if (!(await this.#isDirectory(parent))) return { kind: "missing" };
    }
    const file = key === "" ? null : await this.store.entries.get(this.scope, key);
    if (file !== null) return { kind: "file", content: file.content };
    return (await this.#isDirectory(key)) ? { kind: "directory" } : { kind: "missing" };
  }

  /** Every entry below a directory, its own among them, in the order of their keys. */
  async below({ key }: MemoryPath): Promise<StoredEntry[]> {
    const found: StoredEntry[] = [];
    const entries = allPages(this.store.entries, this.scope, { prefix: directoryKey(key) });
    for await (const entry of entries) found.push(entry);
    return found;
  }

  /** Makes all of the changes, or none. Errors: `ENTRY_CONFLICT` where a file is not what the change is made of. */
  async change(changes: readonly FileChange[], origin: WriteOrigin): Promise<void> {
    const { scope } = this;
    const write = ({ key, from, to }: FileChange): KeptWrite =>
      key.endsWith("/")
        ? directory(scope, key, to)
        : { entries: scope, key, content: to?.toWellFormed() ?? null, options: { origin, expectedContent: from } };
    const absent = (key: string) => ({ entries: scope, key, content: null, options: { expectedContent: null } });
    const added = changes.filter(({ from, to }) => from === null && to !== null).map(({ key }) => key);
    const parents = [...new Set(added.flatMap(parentsOf))];
    await this.store.writeTogether([
      ...changes.map(write),
      ...parents.map((key) => directory(scope, directoryKey(key), "")),
      // Behind a write, which waits for the other writers: a file and a directory have one name only once.
      ...parents.map(absent),
      ...added.filter((key) => !key.endsWith("/")).map((key) => absent(directoryKey(key))),
    ]);
  }

  async #isDirectory(key: string): Promise<boolean> {
    const prefix = directoryKey(key);
    return key === "" || (await this.store.entries.list(this.scope, { prefix, limit: 1 })).length > 0;
  }
}

/** Calls `attempt` again as long as someone else changes the files that it read meanwhile. */
async function untilUnchanged<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      // Who changed them got on, so this ends.
      if (!StemmaError.isInstance(error, "ENTRY_CONFLICT")) throw error;
    }
  }
}

function directory(scope: EntryScope, key: string, content: string | null): KeptWrite {
  const value = content === null ? undefined : DIRECTORY;
  return { entries: scope, key, content, value, options: { keepVersions: 0 } };
}
