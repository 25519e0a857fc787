export { createStudio } from "./studio/create-studio.js";
export type { Studio, StudioAccess, StudioOptions } from "./studio/options.js";
