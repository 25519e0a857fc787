import { afterAll } from "vitest";
import { memory } from "../../../packages/store/src/memory.js";
import { describeRefused } from "../../ai-sdk/describe-refused.js";

const store = memory();
afterAll(() => store.close());
describeRefused("memory", () => store);
