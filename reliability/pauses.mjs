// node reliability/pauses.mjs [--messages 100000] [--runs 3] [--only fork,clear] [--driver node:sqlite]
//
// Calls everything that is public on a file with one long session, and prints for each call how long the event loop did not turn,
// and how long the call took.
import { rmSync } from "node:fs";
import { bundlePrograms } from "./tools/bundle.mjs";

const folder = await bundlePrograms();
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
await import(`${folder}/pauses.mjs`);
