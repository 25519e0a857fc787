// A chat server in a process of its own: node woken-child.mjs <database> <name> <lease>. Prints its URL. What it answers says
// its name; the tool of the one that is called "first" blocks the event loop for eight leases. Stops when its input ends.
import { tool } from "ai";
import { SessionManager } from "stemma";
import { chatHandler } from "stemma/ai-sdk";
import { postgres } from "stemma/postgres";
import { sqlite } from "stemma/sqlite";
import { z } from "zod";
import { endsWithResults, lastUserText, scriptedModel } from "./scripted-model.js";
import { serve } from "./server.js";

const [database = "", name = "", lease = "500"] = process.argv.slice(2);

const block = tool({
  inputSchema: z.object({}),
  execute: async () => {
    if (name === "first") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8 * Number(lease));
    return `done by ${name}`;
  },
});
const { model } = scriptedModel((prompt) => {
  if (!endsWithResults(prompt) && lastUserText(prompt) === "block") return [`Let ${name} see.`, { call: "block" }];
  return { slow: `This is what ${name} has to say about it .`, pause: 40 };
}, crypto.randomUUID());
const store = database.startsWith("postgres") ? postgres(database) : sqlite(database);
const handler = chatHandler({
  sessions: SessionManager.create(store),
  model,
  tools: { block },
  lease: Number(lease),
  authenticate: () => ({ userId: "ada" }),
});
const { url } = await serve(handler);
console.log(`url: ${url}`);
process.stdin.on("end", () => process.exit()).resume();
