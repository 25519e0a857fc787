// The samples of the documents, with a store of this kind where they have a Durable Object.
import { memory } from "../../../packages/store/src/memory.js";
import { runOn } from "../../documents/host.js";

runOn(memory);
await import("../../docs/documents/sessions-page.test.js");
await import("../../docs/documents/older-sessions-page.test.js");
await import("../../docs/documents/memory-page.test.js");
