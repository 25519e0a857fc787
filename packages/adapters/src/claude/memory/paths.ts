import { assertStorableText, invalid, StemmaError, utf8Length } from "@stemma/model";
import type { ToolCallOptions } from "@stemma/session";

/** A path as the model wrote it, and the key of the entry that it names: "" for /memories itself. */
export interface MemoryPath {
  readonly text: string;
  readonly key: string;
}

const ROOT = "/memories";

/** The longest name that a file system takes, in bytes of UTF-8. */
const MAX_NAME = 255;
const MAX_KEY = 1024;

/** Reads a path as a file system does: "." and ".." are resolved first. Errors: `MEMORY_REFUSED`, `INVALID_ARGUMENT`, `INVALID_TEXT`. */
export function parsePath(text: unknown): MemoryPath {
  if (typeof text !== "string") throw invalid("A path of the memory tool must be a text, such as /memories/notes.md.");
  if (!text.startsWith(ROOT)) throw refused(`Path must start with ${ROOT}, got: ${text}`);
  const [top, ...names] = resolve(text.slice(ROOT.length)) ?? [];
  if (top !== ROOT) throw refused(`Path ${text} would escape ${ROOT} directory`);
  const key = names.join("/").toWellFormed();
  assertStorableText(key, "A path");
  if (utf8Length(key) > MAX_KEY || names.some((name) => utf8Length(name) > MAX_NAME)) {
    throw refused(`ENAMETOOLONG: name too long, realpath '${realPath(key)}'`);
  }
  return { text, key };
}

/** The directories above a key, from the top, without /memories. */
export function parentsOf(key: string): string[] {
  const names = key.split("/");
  return names.slice(0, -1).map((_, index) => names.slice(0, index + 1).join("/"));
}

/** The key that every entry of a directory begins with. A directory that the tool made has an entry of just this key. */
export function directoryKey(key: string): string {
  return key === "" ? "" : `${key}/`;
}

export function realPath(key: string): string {
  return key === "" ? ROOT : `${ROOT}/${key}`;
}

// The names from the top, /memories among them; null above all of them.
function resolve(rest: string): string[] | null {
  const names = [ROOT];
  for (const name of rest.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(names.length === 0 ? `/${name}` : name);
    else if (names.pop() === undefined) return null;
  }
  return names;
}

interface ViewCommand {
  readonly path: string;
  /** The first and the last line, from 1 on; -1 for the end. */
  readonly view_range?: readonly number[] | null | undefined;
}

interface CreateCommand {
  readonly path: string;
  readonly file_text: string;
}

interface StrReplaceCommand {
  readonly path: string;
  readonly old_str: string;
  readonly new_str: string;
}

interface InsertCommand {
  readonly path: string;
  /** The line behind which the text goes; 0 for the top. */
  readonly insert_line: number;
  readonly insert_text: string;
}

interface DeleteCommand {
  readonly path: string;
}

interface RenameCommand {
  readonly old_path: string;
  readonly new_path: string;
}

/** The input of a call of the memory tool. */
export type MemoryCommand =
  | ({ readonly command: "view" } & ViewCommand)
  | ({ readonly command: "create" } & CreateCommand)
  | ({ readonly command: "str_replace" } & StrReplaceCommand)
  | ({ readonly command: "insert" } & InsertCommand)
  | ({ readonly command: "delete" } & DeleteCommand)
  | ({ readonly command: "rename" } & RenameCommand);

/**
 * Each method carries out a command, and resolves to the text that the model is told. A refused command changes nothing.
 * Errors: `MEMORY_REFUSED`, `INVALID_ARGUMENT`, `INVALID_TEXT`, `USER_REQUIRED`, those of the store.
 */
export interface MemoryHandlers {
  view(command: ViewCommand, call?: ToolCallOptions): Promise<string>;
  create(command: CreateCommand, call?: ToolCallOptions): Promise<string>;
  str_replace(command: StrReplaceCommand, call?: ToolCallOptions): Promise<string>;
  insert(command: InsertCommand, call?: ToolCallOptions): Promise<string>;
  delete(command: DeleteCommand, call?: ToolCallOptions): Promise<string>;
  rename(command: RenameCommand, call?: ToolCallOptions): Promise<string>;
}

/** Hands a command to its handler. Errors: those of the handler, `INVALID_ARGUMENT` for a command that there is not. */
export async function runCommand(
  handlers: MemoryHandlers,
  command: MemoryCommand,
  call: ToolCallOptions | undefined,
): Promise<string> {
  const { command: name } = command;
  if (!Object.hasOwn(handlers, name)) throw invalid(`The memory tool has no command "${name}".`, { command: name });
  const handle = handlers[name] as (command: MemoryCommand, call?: ToolCallOptions) => Promise<string>;
  return handle(command, call);
}

/** The error for a command that cannot be carried out. Its message is what the model is told. */
export function refused(message: string): StemmaError {
  return new StemmaError("MEMORY_REFUSED", {}, message);
}
