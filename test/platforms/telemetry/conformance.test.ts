import { instrument } from "../../../packages/stemma/src/opentelemetry.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeStore, OF_STORAGES } from "../../describe-store.js";

// Nobody collects: what is told goes nowhere, and the store must be the same.
describeStore(
  "telemetry",
  { name: "instrumented memory", open: () => instrument(memory(), { onEvent: () => {} }) },
  { differsIn: [...OF_STORAGES, "branches", "search", "embeddings", "asked again", "writing together"] },
);
