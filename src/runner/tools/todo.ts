import { z } from "zod";
import { createTool } from "../../tools/tool.js";

const MARKS = { pending: " ", active: ">", done: "x" } as const;

/** `todo`: the plan of the work at hand. It lies in the conversation itself, so it is kept with that. */
export const createTodoTool = () =>
  createTool({
    description: "Write down the list of what is to be done, whole, whenever it changes: for work of several steps.",
    inputSchema: z.object({
      items: z
        .array(z.object({ text: z.string().min(1).max(500), status: z.enum(["pending", "active", "done"]) }))
        .max(100),
    }),
    async run({ items }) {
      if (items.length === 0) return "The list is empty.";
      return items.map(({ text, status }) => `- [${MARKS[status]}] ${text}`).join("\n");
    },
  });
