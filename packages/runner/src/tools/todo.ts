import { createTool, objectSchema } from "@stemma/session";

const MARKS = { pending: " ", active: ">", done: "x" } as const;

const ITEM = objectSchema(
  {
    text: { type: "string", minLength: 1, maxLength: 500 },
    status: { type: "string", enum: ["pending", "active", "done"] },
  },
  ["text", "status"],
);

/** `todo`: the plan of the work at hand. It lies in the conversation itself, so it is kept with that. */
export const createTodoTool = () =>
  createTool({
    description: "Write down the list of what is to be done, whole, whenever it changes: for work of several steps.",
    input: objectSchema({ items: { type: "array", maxItems: 100, items: ITEM } }, ["items"]),
    async run({ items }) {
      if (items.length === 0) return "The list is empty.";
      return items.map(({ text, status }) => `- [${MARKS[status]}] ${text}`).join("\n");
    },
  });
