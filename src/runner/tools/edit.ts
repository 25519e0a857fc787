import { z } from "zod";
import { refusal } from "../../tools/tool.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { readTextFile } from "./text-file.js";

export const createEditTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "edit",
    description: "Replace a text in a file by another. The old text must occur exactly once, unless all is set.",
    changes: true,
    inputSchema: z.object({
      path: z.string().describe("Relative to the working directory."),
      old: z.string().min(1).describe("The text to replace, exactly as it stands in the file."),
      new: z.string().describe("What to put there."),
      all: z.boolean().optional().describe("Replace every occurrence."),
    }),
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
