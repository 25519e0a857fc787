// Two users, nobody and a key, each with words of their own, on every surface.
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { describeCanaries } from "../../learning/describe-canaries.js";

describeCanaries("a canary run in memory", () => memory());
describeCanaries("a canary run on SQLite", () => sqlite(":memory:"));
