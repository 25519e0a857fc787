import type { DatabaseOptions } from "../open-database.js";
import type { LocalOptions } from "../open-local.js";

export interface ChatOptions extends DatabaseOptions, LocalOptions {
  model?: string;
  baseUrl?: string;
  session?: string;
  new?: boolean;
  user?: string;
  /** A folder. */
  skills?: string | undefined;
}
