export { createStudio } from "./create-studio.js";
export { failed, refusal } from "./http/failure.js";
export { respond } from "./http/headers.js";
export { refusalOfOrigin } from "./http/origin.js";
export type { Studio, StudioAccess, StudioOptions } from "./options.js";
