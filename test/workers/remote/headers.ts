/** Names the object of a user. */
export const OBJECT = "object-of-a-test";
/** The store searches tool calls. */
export const TOOLS = "tools-of-a-test";
