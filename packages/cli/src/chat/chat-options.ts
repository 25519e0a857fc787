import type { DatabaseOptions } from "../open-database.js";

export interface ChatOptions extends DatabaseOptions {
  model?: string;
  baseUrl?: string;
  session?: string;
  new?: boolean;
  user?: string;
  /** A folder. */
  skills?: string | undefined;
}
