import { z } from "zod";

export const add = {
  description: "Adds one.",
  inputSchema: z.object({ x: z.number() }),
  execute: async ({ x }: { x: number }) => ({ sum: x + 1 }),
};

export const fails = {
  description: "Always throws.",
  inputSchema: z.object({}),
  execute: async () => {
    throw new RangeError("No such city.");
  },
};

/** Has no `execute`: the host answers. */
export const ask = { description: "Asks the user.", inputSchema: z.object({ question: z.string() }) };
