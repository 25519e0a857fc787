// Appends `count` messages to one session, one after the other: `<place> <prefix> <count> <full or normal>`. Says when it is
// ready, begins when it is told to, and says in the end how long its longest append took, and how many were refused.
import { createInterface } from "node:readline";
import { message } from "../../packages/conformance/src/samples.js";
import { Session } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { openStore } from "../tools/stores.js";

const [place = "", prefix = "", count = "", synchronous = ""] = process.argv.slice(2);
const store = synchronous === "full" ? sqlite(place) : openStore(place);
await store.migrate();
const session = Session.create(store).forSession("s");
process.stdout.write("ready\n");
for await (const _ of createInterface({ input: process.stdin })) break;
let longest = 0;
let refused = 0;
for (let index = 0; index < Number(count); index += 1) {
  const start = performance.now();
  await session.appendMessage(message(`${prefix}${index}`)).catch(() => {
    refused += 1;
  });
  longest = Math.max(longest, performance.now() - start);
}
await store.close();
process.stdout.write(`${JSON.stringify({ longest, refused })}\n`, () => process.exit());
