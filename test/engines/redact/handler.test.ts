import { afterAll, describe, expect, it } from "vitest";
import { memory } from "../../../packages/store/src/memory.js";
import { describeHandler } from "../../ai-sdk/handler-suite.js";

const store = memory({ redact: (text) => text });
afterAll(() => store.close());

describeHandler("a store with a redact that changes nothing", () => store, { describe, it, expect });
