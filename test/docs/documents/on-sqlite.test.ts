// The samples of the documents, with a store of this kind where they have a Durable Object.
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { runOn } from "../../documents/host.js";

runOn(() => sqlite(":memory:"));
await import("./sessions-page.test.js");
await import("./older-sessions-page.test.js");
await import("./memory-page.test.js");
