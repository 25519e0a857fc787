export { guard } from "./access/guard.js";
export type { Principal } from "./access/principal.js";
