export * from "./session.js";
export * from "./utils.js";
