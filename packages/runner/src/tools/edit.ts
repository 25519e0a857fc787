import { objectSchema, refusal } from "@stemma/session";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { readTextFile } from "./text-file.js";
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
