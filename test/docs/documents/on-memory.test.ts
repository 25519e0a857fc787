// The samples of the documents, with a store of this kind where they have a Durable Object.
import { memory } from "../../../packages/store/src/memory.js";
import { runOn } from "../../documents/host.js";

runOn(memory);
await import("./sessions-page.test.js");
await import("./older-sessions-page.test.js");
await import("./memory-page.test.js");
