import { assertKnownOptions, type OptionNames } from "../../known-options.js";
import { assertText } from "../../session/arguments.js";
import { assertSession } from "../../session/assert-session.js";
import { storeNeeded } from "../../session/host.js";
import { coreOf, type Session } from "../../session/session.js";
import type { BlockScope, WriteOrigin } from "../../storage/contract.js";
import type { ToolCallOptions } from "../../tools/tool.js";
import { type MemoryCommand, type MemoryHandlers, runCommand } from "./commands.js";
import { type Found, memoryFiles, untilUnchanged } from "./files.js";
import { listing } from "./listing.js";
import { directoryKey, type MemoryPath, parsePath, realPath } from "./paths.js";
import { refused } from "./refused.js";
import { fileText, insertLines, numberedLines, replaceOnce } from "./text.js";

export interface MemoryToolOptions {
  /** The label of the entries in which the files are kept. Default: "memories". */
  label?: string | undefined;
  /** Who owns the files. Default: the session. */
  scope?: BlockScope | undefined;
}

const NAMES: OptionNames<MemoryToolOptions> = { label: true, scope: true };

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
  assertKnownOptions(options, "memoryTool()", NAMES);
  assertSession(session, "memoryTool()");
  const { label = "memories", scope } = options;
  assertText(label, "The label of memoryTool()");
  const { store } = coreOf(session);
  if (store === null) throw storeNeeded("memoryTool()");
  const files = memoryFiles(store, { sessionId: session.id, label, scope });

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
    async view({ path: given, view_range }) {
      const path = parsePath(given);
      const found = await files.look(path);
      if (found.kind === "directory") return listing(path, await files.below(path));
      const lines = numberedLines(path, contentOf(path, found), view_range);
      return `Here's the content of ${path.given} with line numbers:\n${lines}`;
    },

    async create({ path: given, file_text }, call) {
      const path = parsePath(given);
      const content = fileText(file_text, "file_text");
      const origin = await originOf(call);
      await untilUnchanged(async () => {
        if ((await files.look(path)).kind !== "missing") throw refused(`File ${path.given} already exists`);
        await files.change([{ key: path.key, from: null, to: content }], origin);
      });
      return `File created successfully at: ${path.given}`;
    },

    async str_replace({ path: given, old_str, new_str }, call) {
      const path = parsePath(given);
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

    async insert({ path: given, insert_line, insert_text }, call) {
      const path = parsePath(given);
      const text = fileText(insert_text, "insert_text");
      const origin = await originOf(call);
      await untilUnchanged(() => edit(path, origin, (content) => insertLines(content, insert_line, text)));
      return `The file ${path.given} has been edited.`;
    },

    async delete({ path: given }, call) {
      const path = parsePath(given);
      if (path.key === "") throw refused("Cannot delete the /memories directory itself");
      const origin = await originOf(call);
      await untilUnchanged(async () => {
        const gone = await contentsOf(path);
        if (gone === null) throw refused(`The path ${path.given} does not exist`);
        const changes = gone.map(({ key, content }) => ({ key, from: content, to: null }));
        await files.change(changes, origin);
      });
      return `Successfully deleted ${path.given}`;
    },

    async rename({ old_path, new_path }, call) {
      const origin = await originOf(call);
      await untilUnchanged(async () => {
        const from = parsePath(old_path);
        const moved = await contentsOf(from);
        const to = parsePath(new_path);
        const { kind } = await files.look(to);
        if (from.key === "") throw refused("Cannot rename the /memories directory itself");
        if (kind !== "missing") throw refused(`The destination ${to.given} already exists`);
        if (to.key.startsWith(directoryKey(from.key))) {
          throw refused(`EINVAL: invalid argument, rename '${realPath(from.key)}' -> '${realPath(to.key)}'`);
        }
        if (moved === null) throw refused(`The path ${from.given} does not exist`);
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

function contentOf({ given }: MemoryPath, found: Found): string {
  if (found.kind === "file") return found.content;
  const why = found.kind === "directory" ? "is not a file." : "does not exist. Please provide a valid path.";
  throw refused(`The path ${given} ${why}`);
}
