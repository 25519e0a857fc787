export type {
  ObjectAlarms,
  ObjectNamespace,
  UpkeepReport,
  UserMemory,
  UserMemoryContext,
  UserMemoryOptions,
  UserWorker,
  WorkerOptions,
} from "@stemma/server/worker";
export { createWorker, userMemory } from "@stemma/server/worker";
