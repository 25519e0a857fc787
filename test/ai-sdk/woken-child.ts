// A chat server in a process of its own: node woken-child.mjs <database> <name> <lease>. Prints its URL. What it answers says
// its name; the tool of the one that is called "first" blocks the event loop for eight leases. A line "shift <ms>" sets its wall
// clock, so many milliseconds from the machine's. Stops when its input ends.
import { createInterface } from "node:readline";
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
  const words = Number(/^(\d+) words$/.exec(lastUserText(prompt))?.[1] ?? 0);
  return { slow: `This is what ${name} has to say about it ${"and more ".repeat(words / 2)}.`, pause: 40 };
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

const MachineDate = Date;
let shift = 0;
globalThis.Date = class extends MachineDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [MachineDate.now() + shift] : given) as [number]));
  }
  static override now = () => MachineDate.now() + shift;
} as DateConstructor;
createInterface({ input: process.stdin })
  .on("line", (line) => {
    shift = Number(line.replace("shift ", ""));
    console.log(`shifted: ${shift}`);
  })
  .on("close", () => process.exit());
