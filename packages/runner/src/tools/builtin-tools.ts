import { check, defineOptions, isJsonObject } from "@stemma/model";
import type { SessionTool } from "@stemma/session";
import { createTool, objectSchema } from "@stemma/session";
import type { Approve } from "./agent-tools.js";
import { boundedLines } from "./bounded.js";
import type { BuiltinSettings } from "./builtin-tool.js";
import { createBuiltinTool } from "./builtin-tool.js";
import { createGlobTool, createGrepTool } from "./glob-and-grep.js";
import { createShellTool } from "./shell.js";
import { createEditTool, createReadTool, createWriteTool } from "./text-file.js";
import { Workspace } from "./workspace.js";

const MAX_SHOWN = 500;

const createListTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "list",
    description: "List a directory; names of directories end with /.",
    changes: false,
    input: objectSchema({
      path: { type: "string", description: "Relative to the working directory, which is the default." },
    }),
    async run({ path = "." }, { workspace }) {
      const names = await workspace.list(path);
      return names.length === 0 ? "(The directory is empty.)" : boundedLines(names.sort(), MAX_SHOWN);
    },
  });

const MARKS = { pending: " ", active: ">", done: "x" } as const;

const ITEM = objectSchema(
  {
    text: { type: "string", minLength: 1, maxLength: 500 },
    status: { type: "string", enum: ["pending", "active", "done"] },
  },
  ["text", "status"],
);

/** `todo`: the plan of the work at hand. It lies in the conversation itself, so it is kept with that. */
const createTodoTool = () =>
  createTool({
    description: "Write down the list of what is to be done, whole, whenever it changes: for work of several steps.",
    input: objectSchema({ items: { type: "array", maxItems: 100, items: ITEM } }, ["items"]),
    async run({ items }) {
      if (items.length === 0) return "The list is empty.";
      return items.map(({ text, status }) => `- [${MARKS[status]}] ${text}`).join("\n");
    },
  });

export interface BuiltinToolOptions {
  /** The directory that the tools are confined to. Default: the process's, as it is at each call. */
  cwd?: string | undefined;
  /** Asked before `write`, `edit` and `shell` do anything. Default: the session's `approve`; without either they are off. */
  approve?: Approve | undefined;
  /**
   * Variables that `shell` passes to a command. Of the process's own it passes `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`,
   * the terminal's, the language, the time zone and the folder for temporary files, so that no key comes along.
   */
  env?: Readonly<Record<string, string | undefined>> | undefined;
}

export type BuiltinToolName = keyof typeof FACTORIES;

const FACTORIES = {
  read: createReadTool,
  write: createWriteTool,
  edit: createEditTool,
  list: createListTool,
  glob: createGlobTool,
  grep: createGrepTool,
  shell: createShellTool,
  todo: createTodoTool,
} satisfies Record<string, (settings: BuiltinSettings) => SessionTool>;

const OPTIONS = defineOptions<BuiltinToolOptions>({
  cwd: check.text,
  approve: check.callable,
  env: check.rule("an object of variables", isJsonObject),
});

/**
 * Tools for a local agent: read, write, edit, list, glob, grep, shell, todo. They do not read or write files outside `cwd`,
 * also through links. `shell` starts in `cwd` but can do what the process can do, so `approve` must allow each command.
 * Answers are limited in length. A refusal is text that starts with `Error:`, never a thrown error.
 */
export function createBuiltinTools(options: BuiltinToolOptions = {}): Record<BuiltinToolName, SessionTool> {
  OPTIONS.assert(options, "createBuiltinTools()");
  const settings = { workspace: new Workspace(options.cwd ?? null), approve: options.approve, env: options.env ?? {} };
  const tools = Object.entries(FACTORIES).map(([name, create]) => [name, create(settings)] as const);
  return Object.fromEntries(tools) as Record<BuiltinToolName, SessionTool>;
}

/** `createBuiltinTools()` for the process's directory. `write`, `edit` and `shell` need a session with `approve`. */
export const builtinTools: Record<BuiltinToolName, SessionTool> = /* @__PURE__ */ createBuiltinTools();
