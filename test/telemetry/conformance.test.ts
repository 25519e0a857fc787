import { memory } from "../../src/memory.js";
import { instrument } from "../../src/opentelemetry.js";
import { describeStore } from "../describe-store.js";

// Nobody collects: what is told goes nowhere, and the store must be the same.
describeStore("telemetry", { name: "instrumented memory", open: () => instrument(memory(), { onEvent: () => {} }) });
