import { z } from "zod";
import { StemmaError } from "../../errors.js";
import { boundedLines } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { files } from "./workspace.js";

const MAX_SHOWN = 500;

export const createListTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "list",
    description: "List a directory; names of directories end with /.",
    changes: false,
    inputSchema: z.object({
      path: z.string().optional().describe("Relative to the working directory, which is the default."),
    }),
    async run({ path = "." }, { workspace }) {
      const { readdir } = await files();
      const entries = await readdir(await workspace.resolve(path), { withFileTypes: true }).catch((cause: unknown) => {
        throw new StemmaError("INVALID_ARGUMENT", { path }, `${path} is not a directory that can be listed.`, {
          cause,
        });
      });
      if (entries.length === 0) return "(The directory is empty.)";
      const names = entries.map(
        (entry) => `${entry.name}${entry.isDirectory() ? "/" : entry.isSymbolicLink() ? "@" : ""}`,
      );
      return boundedLines(names.sort(), MAX_SHOWN);
    },
  });
