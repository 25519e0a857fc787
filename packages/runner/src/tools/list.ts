import { objectSchema } from "@stemma/session";
import { boundedLines } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";

const MAX_SHOWN = 500;

export const createListTool = (settings: BuiltinSettings) =>
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
