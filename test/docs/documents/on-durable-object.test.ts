// The samples of the documents, with a store of this kind where they have a Durable Object.
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { objectContext, runOn } from "../../documents/host.js";

runOn(() => durableObject(objectContext()));
await import("./sessions-page.test.js");
await import("./older-sessions-page.test.js");
await import("./memory-page.test.js");
