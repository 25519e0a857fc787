export { createStudio } from "./create-studio.js";
export { failed, refusal, refusalOfOrigin, respond } from "./http/failure.js";
export type { Studio, StudioAccess, StudioOptions } from "./options.js";
