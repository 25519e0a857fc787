import { describe, it } from "vitest";
import { memory } from "../../src/memory.js";
import { describeStore } from "../../src/testing.js";

describeStore({ name: "memory", open: () => memory(), capabilities: { durable: false } }, { describe, it });
