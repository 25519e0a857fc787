/** Whose store a request is for. */
export const TENANT = "tenant-of-a-test";
/** After how many statements from this request on the server kills itself, 0 being before the first. */
export const STATEMENTS = "statements-of-a-test";
