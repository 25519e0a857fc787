// node reliability/pauses.mjs [--messages 100000] [--runs 3] [--only fork,clear] [--driver node:sqlite]
import { rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { makeFastFolder } from "../../test/helpers/fast-folder.js";
import { leaveOutBetterSqlite3, type MeasuredCall, measureCalls } from "../pauses/measure-calls.js";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "100000" },
    runs: { type: "string", default: "3" },
    /** Parts of the names of calls. */
    only: { type: "string" },
    driver: { type: "string", default: "better-sqlite3" },
  },
});
if (values.driver === "node:sqlite") leaveOutBetterSqlite3();
const folder = makeFastFolder();
const parts = values.only?.split(",");
const line = ({ name, time, pause, pauseWithCollector, failure }: MeasuredCall): string =>
  `${pause.toFixed(0).padStart(7)} ${pauseWithCollector.toFixed(0).padStart(9)} ${time.toFixed(0).padStart(8)}  ${name}${failure === null ? "" : `\n${failure}`}`;
try {
  console.log("longest pause, with the collector of garbage, and whole time, ms");
  await measureCalls({
    folder,
    size: Number(values.messages),
    runs: Number(values.runs),
    only: parts && ((name) => parts.some((part) => name.includes(part))),
    onCall: (call) => console.log(line(call)),
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
