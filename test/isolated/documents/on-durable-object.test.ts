// The samples of the documents, with a store of this kind where they have a Durable Object.
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { objectContext, runOn } from "../../documents/host.js";

runOn(() => durableObject(objectContext()));
await import("../../docs/documents/sessions-page.test.js");
await import("../../docs/documents/older-sessions-page.test.js");
await import("../../docs/documents/memory-page.test.js");
