export type { Studio, StudioAccess, StudioOptions } from "@stemma/studio";
export { createStudio } from "@stemma/studio";
