// Erases the user "ada" of a database. Says when it begins.
import { writeSync } from "node:fs";
import { SessionManager } from "../../packages/session/src/manager/session-manager.js";
import { sqlite } from "../../packages/store/src/sqlite.js";

const manager = SessionManager.create(sqlite(process.argv[2] as string));
await manager.store.migrate();
writeSync(1, "begin\n");
await manager.eraseUser("ada");
await manager.store.close();
