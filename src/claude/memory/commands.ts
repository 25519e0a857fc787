import { invalid } from "../../errors.js";
import type { ToolCallOptions } from "../../tools/tool.js";

export interface ViewCommand {
  readonly path: string;
  /** The first and the last line, from 1 on; -1 for the end. */
  readonly view_range?: readonly number[] | null | undefined;
}

export interface CreateCommand {
  readonly path: string;
  readonly file_text: string;
}

export interface StrReplaceCommand {
  readonly path: string;
  readonly old_str: string;
  readonly new_str: string;
}

export interface InsertCommand {
  readonly path: string;
  /** The line behind which the text goes; 0 for the top. */
  readonly insert_line: number;
  readonly insert_text: string;
}

export interface DeleteCommand {
  readonly path: string;
}

export interface RenameCommand {
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
