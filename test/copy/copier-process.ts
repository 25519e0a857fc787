import { copyStore } from "../../packages/stemma/src/copy.js";
import { jsonlFiles } from "../../packages/stemma/src/copy-node.js";
import { sqlite } from "../../packages/store/src/sqlite.js";

// Copies in a process of its own, whose memory is bounded.

const [from = "", to = ""] = process.argv.slice(2);
const open = (path: string) => (path.endsWith("/") ? jsonlFiles(path) : sqlite(path, { synchronous: "normal" }));
const { ok, sessions, messages } = await copyStore(open(from), open(to));
process.stdout.write(JSON.stringify({ ok, sessions, messages }));
