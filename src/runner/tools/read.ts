import { objectSchema } from "../../tools/input-schema.js";
import { boundedLine, boundedText } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { readTextFile } from "./text-file.js";

const MAX_LINES = 2000;
const MAX_LINE = 2000;

export const createReadTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "read",
    description: `Read a text file, with line numbers; ${MAX_LINES} lines at a time.`,
    changes: false,
    input: objectSchema(
      {
        path: { type: "string", description: "Relative to the working directory." },
        offset: { type: "integer", minimum: 1, description: "The first line, from 1." },
        limit: { type: "integer", minimum: 1, maximum: MAX_LINES, description: "How many lines." },
      },
      ["path"],
    ),
    async run({ path, offset = 1, limit = MAX_LINES }, { workspace }) {
      const lines = (await readTextFile(workspace, path)).split("\n");
      if (lines.at(-1) === "") lines.pop();
      const shown = lines.slice(offset - 1, offset - 1 + limit);
      const numbered = shown.map((line, index) => `${offset + index}\t${boundedLine(line, MAX_LINE)}`);
      if (numbered.length === 0) return lines.length === 0 ? "(The file is empty.)" : `(It has ${lines.length} lines.)`;
      const end = offset - 1 + shown.length;
      const rest = end < lines.length ? `\n(Lines ${offset} to ${end} of ${lines.length}.)` : "";
      return boundedText(numbered.join("\n")) + rest;
    },
  });
