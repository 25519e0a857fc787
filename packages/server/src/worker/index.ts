export { createWorker, type UserWorker, type WorkerOptions } from "./create-worker.js";
export {
  type ObjectAlarms,
  type ObjectNamespace,
  type UpkeepReport,
  type UserMemory,
  type UserMemoryContext,
  type UserMemoryOptions,
  userMemory,
} from "./user-memory.js";
