export type { ObjectAlarms, ObjectNamespace, UserMemoryContext } from "./cloudflare.js";
export { createWorker, type UserWorker, type WorkerOptions } from "./create-worker.js";
export type { UpkeepReport } from "./upkeep.js";
export { type UserMemory, type UserMemoryOptions, userMemory } from "./user-memory.js";
