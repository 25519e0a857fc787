// Clocks that go back, and texts that pretend, with facts in time.
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { describeBadInput } from "../../learning/describe-bad-input.js";

describeBadInput("bad input of facts in memory", () => memory());
describeBadInput("bad input of facts on SQLite", () => sqlite(":memory:"));
