import { mkdtempSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BetaLocalFilesystemMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";
import fc from "fast-check";
import type { MemoryCommand } from "../../packages/adapters/src/claude/memory/paths.js";
import { shorten } from "../../packages/model/src/errors.js";

/** The tool of Anthropic's SDK, on a folder of its own. */
export interface LocalTool {
  run(command: MemoryCommand): Promise<string>;
  remove(): void;
}

export async function localTool(): Promise<LocalTool> {
  const folder = mkdtempSync(join(tmpdir(), "stemma-memories-"));
  const tool = await BetaLocalFilesystemMemoryTool.init(folder);
  const handlers = tool as unknown as Record<string, (command: MemoryCommand) => Promise<string>>;
  const places = () => readdirSync(folder, { recursive: true, encoding: "utf8" });
  return {
    async run(command) {
      const before = command.command === "rename" ? new Set(places()) : null;
      const answer = await answerOf(() => handlers[command.command]?.call(tool, command), folder);
      // A rename that it refuses leaves the directories that it made for it. Ours changes nothing.
      if (before !== null && answer.startsWith("Error: ")) {
        const made = places().filter((place) => !before.has(place));
        for (const place of made.sort().reverse()) rmdirSync(join(folder, place));
      }
      return normal(answer);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What the model is told: the answer, or the message of the error, in which a path does not begin with `folder`. */
export async function answerOf(run: () => Promise<string> | undefined, folder = "\0"): Promise<string> {
  try {
    return `${await run()}`;
  } catch (error) {
    // Ours is no longer than an error of Stemma.
    return `Error: ${shorten((error as Error).message.replaceAll(folder, ""), 4000)}`;
  }
}

/** An answer without the sizes of directories: on a disk these are those of its blocks. */
export function normal(answer: string): string {
  if (!answer.startsWith("Here're the files")) return answer;
  const [head, root, ...lines] = answer.split(/\n(?=[\d.]+[BKMG]\t)/);
  const unsized = (line: string | undefined) => line?.replace(/^[^\t]*/, "");
  return [head, unsized(root), ...lines.map((line) => (line.endsWith("/") ? unsized(line) : line))].join("\n");
}

const usual = fc.constantFrom("a", "b", "c.md");
const odd = fc.constantFrom(
  ...["notes.txt", "B", "a b", "a-b", "a!", "ab", ".hidden", "node_modules", "node_modules2", "...", "..x", "~"],
  ...["日本", "é", "e\u0301", "😀", "\uffee", "$&", "%2e%2e", "\\", "x\ud800"],
);
const names = fc.oneof({ weight: 3, arbitrary: usual }, { weight: 1, arbitrary: odd });
const long = fc.constantFrom("n".repeat(255), "n".repeat(256), "é".repeat(127), "é".repeat(128));
const segment = fc.oneof({ weight: 12, arbitrary: names }, { weight: 1, arbitrary: fc.constantFrom("..", ".", "") });
const path = fc.oneof(
  { weight: 30, arbitrary: fc.array(segment, { maxLength: 3 }).map((all) => ["/memories", ...all].join("/")) },
  { weight: 30, arbitrary: names.map((name) => `/memories/${name}`) },
  { weight: 1, arbitrary: long.map((name) => `/memories/${name}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...["/memories", "/memories/", "/", "", "memories/a", "/etc/passwd", "/memories/../x", "/memories/a/../../x"],
      ...[
        "/memories/../memories/a",
        "/memories/%2e%2e/x",
        "/memories\\..\\x",
        "/memoriesx",
        "/Memories/a",
        " /memories/a",
      ],
    ),
  },
);

const words = fc.constantFrom(
  "x",
  "y",
  "xy",
  "  x",
  "",
  "$&$1$`$$",
  "tea",
  "Ärger",
  "日本語",
  "👩‍👩‍👧",
  "\t",
  "\r",
  "\ufeff",
  "a\u2028b",
  "\ud83d",
);
const line = fc.array(words, { maxLength: 3 }).map((all) => all.join(" "));
const text = fc.oneof(
  { weight: 20, arbitrary: fc.array(line, { maxLength: 7 }).map((all) => all.join("\n")) },
  { weight: 1, arbitrary: fc.nat({ max: 3000 }).map((length) => `${"long ".repeat(length)}\nx`) },
);

/** Any command. */
export const commands: fc.Arbitrary<MemoryCommand> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      command: fc.constant("view" as const),
      path,
      view_range: fc.option(fc.tuple(fc.integer({ min: -2, max: 9 }), fc.integer({ min: -3, max: 9 })), {
        nil: undefined,
      }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ command: fc.constant("create" as const), path, file_text: text }) },
  {
    weight: 4,
    arbitrary: fc.record({
      command: fc.constant("str_replace" as const),
      path,
      old_str: fc.oneof(words, line, text),
      new_str: text,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      command: fc.constant("insert" as const),
      path,
      insert_line: fc.integer({ min: -1, max: 8 }),
      insert_text: text,
    }),
  },
  { weight: 1, arbitrary: fc.record({ command: fc.constant("delete" as const), path }) },
  { weight: 2, arbitrary: fc.record({ command: fc.constant("rename" as const), old_path: path, new_path: path }) },
);
